"""Health checks: what is wrong, one check a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vacate.wire.message import Request, Response

Check = Callable[[], str]
"""Says what is wrong, or nothing."""


_TEXT = "text/plain; charset=utf-8"


class Health:
    """Named checks behind /livez, /readyz and /healthz, each also asked alone as /readyz/NAME.

    `remarks` say, by the name of a check, what a verbose answer adds where nothing is wrong.
    """

    def __init__(
        self,
        live: Mapping[str, Check],
        ready: Mapping[str, Check],
        remarks: Mapping[str, Check] | None = None,
    ) -> None:
        self._remarks = dict(remarks or {})
        self._checks = {"livez": dict(live), "healthz": dict(live), "readyz": {**live, **ready}}

    def add_ready(self, name: str, check: Check) -> None:
        """A further condition for being ready."""
        self._checks["readyz"][name] = check

    def answer(self, request: Request) -> Response | None:
        """The verdict, in the words of Kubernetes; None where the path is not of this kind."""
        root, _, single = request.path.strip("/").partition("/")
        checks = self._checks.get(root)
        if checks is None or (single and single not in checks):
            return None
        chosen = {single: checks[single]} if single else checks
        excluded = request.query.getall("exclude", [])
        verdicts = {name: check() for name, check in chosen.items() if name not in excluded}
        healthy = not any(verdicts.values())
        if healthy and "verbose" not in request.query:
            return Response(200, b"ok", _TEXT)
        lines = [
            f"[-]{name} failed: {wrong}" if wrong else f"[+]{name} ok{self._remark(name)}"
            for name, wrong in verdicts.items()
        ]
        lines.append(f"{root} check {'passed' if healthy else 'failed'}")
        return Response(200 if healthy else 500, ("\n".join(lines) + "\n").encode(), _TEXT)

    def _remark(self, name: str) -> str:
        text = self._remarks[name]() if name in self._remarks else ""
        return f": {text}" if text else ""
