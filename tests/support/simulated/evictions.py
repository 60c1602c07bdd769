"""Objects and steps for tests of the eviction request controller in a simulated cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.simulated.clusters import Body, in_world
from support.simulated.workloads import condition_of, created, events_of, history
from vacate.api.kinds import EVENTS, EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.client.client import Client
from vacate.embedded.apiserver.response.stored import encoder, key_of
from vacate.sim.cluster import World
from vacate.testing import pod

__all__ = [
    "as_interceptor",
    "completed",
    "condition_of",
    "created",
    "ended",
    "ending",
    "events_of",
    "finish",
    "found",
    "heartbeat",
    "history",
    "in_eviction_cluster",
    "on_simulated_cluster",
    "request_eviction",
    "requested",
    "running_pod",
    "stage",
    "status",
    "turns",
]

A, B, C = "a.example.com", "b.example.com", "c.example.com"
DRAIN = "drain.example.com"


def in_eviction_cluster(body: Body, seed: int = 0, **settings: Any) -> str:
    """Run the body in a cluster with the eviction request controller, which counts what it answers."""
    return in_world(body, seed, measured=True, **settings)


def on_simulated_cluster(body: Body, seed: int = 0, **settings: Any) -> str:
    """Run the body in a cluster of nothing but the controller: pods stay pending, and go when asked."""
    return in_eviction_cluster(body, seed, **({"nodes": 0, "controllers": ()} | settings))


async def running_pod(
    world: World, name: str = "p", *, interceptors: Sequence[str] = (), **parts: Any
) -> Obj:
    """A pod that runs, where there are nodes; the last of the interceptors has the first turn."""
    made = pod(name, **parts)
    if interceptors:
        made["spec"]["evictionInterceptors"] = [{"name": one} for one in interceptors]
    await world.client.create(PODS, made, "default")
    if world.settings.nodes:
        await world.until(lambda: condition_of(created(world, PODS, name), "Ready") == "True")
    return created(world, PODS, name)


async def request_eviction(
    world: World, target: Obj, *requesters: str, seconds: int = 1800, **meta: Any
) -> str:
    """Create a request for the pod; returns its name."""
    name = str(target["metadata"]["uid"])
    body = {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": name, **meta},
        "spec": {
            "target": {"podRef": {"name": target["metadata"]["name"], "uid": name}},
            "requesters": [{"name": one} for one in requesters or (DRAIN,)],
            "heartbeatDeadlineSeconds": seconds,
        },
    }
    await world.client.create(EVICTIONREQUESTS, body, "default")
    return name


async def requested(world: World, *interceptors: str, seconds: int = 1800, **parts: Any) -> str:
    """A running pod of these interceptors, and a request for it; returns the request's name."""
    target = await running_pod(world, interceptors=interceptors, **parts)
    return await request_eviction(world, target, seconds=seconds)


def found(world: World, name: str) -> Obj:
    """The request, which must be there."""
    return created(world, EVICTIONREQUESTS, name)


def status(world: World, name: str) -> Obj:
    """The request's status."""
    shown: Obj = found(world, name).get("status", {})
    return shown


def active(world: World, name: str) -> str:
    """Whose turn it is."""
    return str(status(world, name).get("activeInterceptorName") or "")


def stage(world: World, name: str) -> str:
    """The stage that was last written down."""
    return condition_of(found(world, name), "Progressing", "reason")


def failed(world: World, name: str) -> int:
    """How many evictions were refused."""
    return int((status(world, name).get("podEvictionStatus") or {}).get("failedAPIEvictionCounter", 0))


def ended(world: World, name: str) -> bool:
    """Whether the request is complete."""
    return condition_of(found(world, name), "Complete") == "True"


def ending(world: World, name: str) -> str:
    """Why it is complete."""
    return condition_of(found(world, name), "Complete", "reason")


def turns(world: World, name: str) -> list[str]:
    """Every interceptor that ever had its turn, in order, as the stored history has it."""
    names: list[str] = []
    for _, one in history(world, EVICTIONREQUESTS):
        active_name = (one.get("status") or {}).get("activeInterceptorName")
        if one["metadata"]["name"] == name and active_name and names[-1:] != [active_name]:
            names.append(active_name)
    return names


async def as_interceptor(world: World, name: str, client: Client | None = None, **fields: Any) -> None:
    """Write status fields as an interceptor does."""
    await (client or world.client).patch(
        EVICTIONREQUESTS, name, {"status": fields}, "default", subresource="status"
    )


async def heartbeat(world: World, name: str, **fields: Any) -> None:
    """Report progress now."""
    now = format_exact_time(world.sim.clock.now())
    await as_interceptor(world, name, heartbeatTime=now, **fields)


async def finish(world: World, name: str) -> None:
    """Say that the active interceptor has done its part."""
    await as_interceptor(world, name, activeInterceptorCompleted=True)


async def completed(world: World, name: str, timeout: float = 600.0) -> str:
    """Wait until the request is complete; returns why."""
    await world.until(lambda: ended(world, name), timeout, "the end of the request")
    return ending(world, name)


def event_count(world: World) -> int:
    """How many events the controller wrote."""
    events = world.objects(EVENTS)
    return sum(one["source"].get("component") == "evictionrequest-controller" for one in events)


def heard(world: World, verb: str = "", resource: str = "", subresource: str = "") -> int:
    """How many requests the server answered, by its own count; all unless specified otherwise."""
    total = 0.0
    for family in world.server.metrics.requests.collect():
        for one in family.samples:
            wanted = {"verb": verb, "resource": resource, "subresource": subresource}
            if one.name.endswith("_total") and all(
                value in ("", one.labels[key]) for key, value in wanted.items()
            ):
                total += one.value
    return int(total)


def evictions_heard(world: World) -> int:
    """How many evictions the server answered, by its own count."""
    return heard(world, subresource="eviction")


async def put_past_admission(world: World, obj: Obj) -> None:
    """Store a request as a server would that knows nothing of admission."""
    await world.server.store.put(key_of(EVICTIONREQUESTS, obj), encoder(obj)).done()
