"""What an installation consists of, noted in the cluster, so that an upgrade knows what is no longer needed.

The note is a ConfigMap in Vacate's namespace with a line for each object. Before anything is applied it names
what was there and what is to come; when all is done, only what is there. So whatever is interrupted, no
object is forgotten. Beside it stand the options that the installation was made with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vacate.api.installednames import INVENTORY, PART_OF
from vacate.api.objects import Obj, dig, name_of, namespace_of
from vacate.client.client import Client
from vacate.install.apply.requests import applied, existing
from vacate.install.objectkinds import is_known

_KEY, _OPTIONS = "objects", "options"
# Anybody may have written it: what is no name must not become a path, nor be shown on a terminal.
_WHERE = re.compile(r"((?P<namespace>[a-z0-9][a-z0-9-]*)/)?(?P<name>[a-z0-9][a-z0-9.:-]*)")


def inventory(namespace: str, lines: Iterable[str], options: str = "") -> Obj:
    """The ConfigMap."""
    kept = {_OPTIONS: options} if options else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": INVENTORY, "namespace": namespace, "labels": dict(PART_OF)},
        "data": {_KEY: "".join(f"{line}\n" for line in lines), **kept},
    }


def line_of(obj: Obj) -> str:
    """`apps/v1 Deployment vacate-system/vacate-manager`, without the namespace where there is none."""
    where = "/".join(filter(None, (namespace_of(obj), name_of(obj))))
    return f"{obj['apiVersion']} {obj['kind']} {where}"


def object_of(line: str) -> Obj | None:
    """The identity that a line names; None for what is no such line, or of a kind that is not installed."""
    match line.split(" "):
        case [version, kind, where] if is_known(version, kind) and (found := _WHERE.fullmatch(where)):
            meta = {key: value for key, value in found.groupdict().items() if value}
            return {"apiVersion": version, "kind": kind, "metadata": meta}
    return None


class Inventory:
    """The inventory of the installation in one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def lines(self) -> list[str]:
        """What is noted."""
        return (await self._read())[0]

    async def options(self) -> str:
        """What the installation was made with, as its command has written it."""
        return (await self._read())[1]

    async def note(self, lines: Sequence[str], options: str = "") -> None:
        """Note exactly these; nothing is written where that stands there already."""
        wanted = list(dict.fromkeys(lines))
        if (wanted, options) != await self._read():
            await applied(self._client, inventory(self._namespace, wanted, options))

    async def _read(self) -> tuple[list[str], str]:
        found = await existing(self._client, inventory(self._namespace, ())) or {}
        noted, options = (str(dig(found, "data", key) or "") for key in (_KEY, _OPTIONS))
        return noted.splitlines(), options
