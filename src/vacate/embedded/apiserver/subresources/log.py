"""GET pods/NAME/log: what a container has printed, from the node that runs it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.integers import parse_int64
from vacate.embedded.apiserver.storage import Storage
from vacate.errors import BadRequest, NotFound
from vacate.wire.message import Query, Response

_PLAIN = "text/plain"
_CHUNK = 64 * 1024
_POLL_SECONDS = 0.2
_MAX_READ = 64 * 1024 * 1024


async def get_log(registry: Storage, call: Call) -> Response:
    """The whole log or its end; with `follow` also what is printed from now on, until the container ends."""
    pod = registry.current(PODS, call.namespace, call.name)[1]
    query = call.request.query
    container = _container(pod, query.get("container", ""))
    tail, limit = _number(query, "tailLines"), _number(query, "limitBytes")
    path = _file(registry, pod, container, previous=_flag(query, "previous"))
    file = path.open("rb")
    try:
        file.seek(_start(file, tail))
        if not _flag(query, "follow"):
            return Response(200, file.read(_MAX_READ if limit is None else min(limit, _MAX_READ)), _PLAIN)
    except BaseException:
        file.close()
        raise
    return Response(200, _Following(registry, call, pod, container, file, limit), _PLAIN)


class _Following:
    """The log as it grows."""

    def __init__(
        self, registry: Storage, call: Call, pod: Obj, container: str, file: IO[bytes], limit: int | None
    ) -> None:
        self._registry, self._call, self._container, self._file = registry, call, container, file
        self._uid = pod["metadata"]["uid"]
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._left is None or self._left > 0:
            over = not self._runs()  # asked before reading, so that the last words are not missed
            chunk = self._file.read(_CHUNK if self._left is None else min(self._left, _CHUNK))
            if chunk:
                self._left = None if self._left is None else self._left - len(chunk)
                yield chunk
            elif over:
                return
            else:
                await self._registry.clock.sleep(_POLL_SECONDS)

    async def aclose(self) -> None:
        """Close the file."""
        self._file.close()

    def _runs(self) -> bool:
        try:
            pod = self._registry.current(PODS, self._call.namespace, self._call.name)[1]
        except NotFound:
            return False
        same = pod["metadata"]["uid"] == self._uid
        return same and dig(_status(pod, self._container), "state", "running") is not None


def _container(pod: Obj, asked: str) -> str:
    name = pod["metadata"]["name"]
    spec = pod.get("spec") or {}
    main = [one["name"] for one in spec.get("containers") or ()]
    everyone = main + [one["name"] for one in spec.get("initContainers") or ()]
    if asked:
        if asked not in everyone:
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    if len(main) != 1:
        choices = " ".join(main)
        raise BadRequest(f"a container name must be specified for pod {name}, choose one of: [{choices}]")
    return str(main[0])


def _file(registry: Storage, pod: Obj, container: str, *, previous: bool) -> Path:
    node = dig(pod, "spec", "nodeName") or ""
    name = pod["metadata"]["name"]
    if registry.logs is None:
        raise NotFound(f'pod "{name}" has no log: simulated nodes run no processes', details={})
    found = registry.logs(node, pod["metadata"]["uid"], container)
    count = 2 if previous else 1
    if len(found) < count:
        which = "previous terminated container" if previous else "container"
        raise BadRequest(f'{which} "{container}" in pod "{name}" has no log on this server\'s nodes')
    return found[-count]


def _status(pod: Obj, container: str) -> Obj:
    status = pod.get("status") or {}
    statuses = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((one for one in statuses if one.get("name") == container), {})


def _start(file: IO[bytes], tail: int | None) -> int:
    """Where the last so many lines begin."""
    if tail is None:
        return 0
    end = position = file.seek(0, 2)
    lines = tail + 1
    while position > 0 and lines > 0:
        begin = max(position - _CHUNK, 0)
        file.seek(begin)
        chunk = file.read(position - begin)
        if position == end and not chunk.endswith(b"\n"):
            lines -= 1
        while lines > 0 and (found := chunk.rfind(b"\n")) >= 0:
            lines -= 1
            chunk = chunk[:found]
            if lines == 0:
                return begin + found + 1
        position = begin
    return 0


def _number(query: Query, name: str) -> int | None:
    text = query.get(name, "")
    try:
        number = parse_int64(text) if text else None
    except ValueError:
        raise BadRequest(f"{name}: {text!r} is not a number") from None
    if number is not None and number < 0:
        raise BadRequest(f"{name}: must be greater than or equal to 0")
    return number


def _flag(query: Query, name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")
