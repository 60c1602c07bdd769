"""The API as a conformance case uses it: an arm, a namespace of its own, and short methods for requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.arms.arm import ADMIN, JSON, MERGE_PATCH, Answer, Arm, As, Event, Obj, Query, watch
from vacate.api.kinds import NAMESPACES, Kind


class CaseApi:
    """One case on one arm. Objects without a namespace must be named with `unique`."""

    def __init__(self, arm: Arm, suffix: str) -> None:
        self.arm = arm
        self.namespace = f"c-{suffix}"
        self._suffix = suffix
        self._elsewhere: list[str] = []

    def unique(self, base: str) -> str:
        """A name that nobody else in the cluster has."""
        return f"{base}-{self._suffix}"

    def at(self, kind: Kind, name: str = "", sub: str = "") -> str:
        """The path of a collection of this namespace, of an object, or of a subresource."""
        namespace = self.namespace if kind.namespaced else None
        return kind.object_path(name, namespace, sub) if name else kind.collection_path(namespace)

    async def ask(
        self, method: str, kind: Kind, name: str = "", sub: str = "", body: Any = None, **options: Any
    ) -> Answer:
        """One request through the arm."""
        return await self.arm.call(method, self.at(kind, name, sub), body=body, **options)

    async def post(self, kind: Kind, obj: Obj, **options: Any) -> Answer:
        """Ask to create."""
        self._remember(kind, obj)
        return await self.ask("POST", kind, body=obj, **options)

    async def create(self, kind: Kind, obj: Obj, **options: Any) -> Obj:
        """Create through the arm."""
        return (await self.post(kind, obj, **options)).ok(201)

    async def given(self, kind: Kind, obj: Obj) -> Obj:
        """Create as an arrangement."""
        self._remember(kind, obj)
        return await self.arm.given("POST", self.at(kind), obj)

    async def given_status(self, kind: Kind, name: str, status: Obj) -> Obj:
        """Write a status as an arrangement."""
        path = self.at(kind, name, "status")
        return await self.arm.given("PATCH", path, {"status": status}, content_type=MERGE_PATCH)

    async def given_patch(self, kind: Kind, name: str, patch: Obj) -> Obj:
        """Change an object as an arrangement."""
        return await self.arm.given("PATCH", self.at(kind, name), patch, content_type=MERGE_PATCH)

    async def get(self, kind: Kind, name: str, sub: str = "", **options: Any) -> Obj:
        """Read through the arm."""
        return (await self.ask("GET", kind, name, sub, **options)).ok()

    async def gone(self, kind: Kind, name: str) -> None:
        """Check that there is no such object."""
        (await self.ask("GET", kind, name)).refused(404, "NotFound")

    async def put(self, kind: Kind, obj: Obj, sub: str = "", **options: Any) -> Answer:
        """Ask to replace."""
        return await self.ask("PUT", kind, obj["metadata"]["name"], sub, body=obj, **options)

    async def patch(
        self, kind: Kind, name: str, patch: Any, form: str = MERGE_PATCH, sub: str = "", **options: Any
    ) -> Answer:
        """Ask to patch."""
        return await self.ask("PATCH", kind, name, sub, body=patch, content_type=form, **options)

    async def delete(self, kind: Kind, name: str, options: Obj | None = None, **more: Any) -> Answer:
        """Ask to delete, with DeleteOptions as the body."""
        body = None if options is None else {"kind": "DeleteOptions", "apiVersion": "v1", **options}
        return await self.ask("DELETE", kind, name, body=body, **more)

    async def listed(self, kind: Kind, query: Query = (), **options: Any) -> Obj:
        """List this namespace, or the cluster for kinds without one."""
        return (await self.ask("GET", kind, query=query, **options)).ok()

    async def version(self, kind: Kind) -> str:
        """The revision of a list now."""
        listed = await self.arm.given("GET", self.at(kind))
        return str(listed["metadata"]["resourceVersion"])

    async def watch(
        self,
        kind: Kind,
        query: dict[str, str],
        until: int | Callable[[Event], bool] | None = None,
        *,
        accept: str = JSON,
        as_user: As | None = ADMIN,
    ) -> list[Event]:
        """Events of this namespace."""
        return await watch(self.arm, self.at(kind), query, until=until, accept=accept, as_user=as_user)

    async def enter(self) -> None:
        """Make the namespace."""
        await self.arm.given("POST", NAMESPACES.collection_path(), {"metadata": {"name": self.namespace}})

    async def leave(self) -> None:
        """Take away what others could stumble over; a namespace takes its contents along."""
        for path in [*self._elsewhere, NAMESPACES.object_path(self.namespace)]:
            await self.arm.drop(path)

    def _remember(self, kind: Kind, obj: Obj) -> None:
        name = obj.get("metadata", {}).get("name", "")
        if name and not kind.namespaced:
            self._elsewhere.append(kind.object_path(name))


def names(listed: Obj) -> list[str]:
    """The names of a list's items, in order."""
    return [item["metadata"]["name"] for item in listed["items"]]


def types_and_names(events: list[Event]) -> list[tuple[str, str]]:
    """Type and name of each event."""
    return [(event.type, event.name) for event in events]
