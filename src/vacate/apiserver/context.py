"""One request on its way through the server: who asks for what, and when."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.identity import User
from vacate.api.kinds import Kind
from vacate.errors import BadRequest
from vacate.wire.message import Request


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was identified, routed and authorised. One `now` serves all of it."""

    request: Request
    user: User
    kind: Kind
    namespace: str
    name: str  # empty for a collection
    subresource: str
    now: dt.datetime

    @property
    def dry_run(self) -> bool:
        """Whether the query asks for `dryRun=All`; anything but All is a bad request."""
        values = self.request.query.getall("dryRun", [])
        check_dry_run(values)
        return bool(values)


def check_dry_run(values: list[str]) -> None:
    """Refuse every directive but `All`."""
    for value in values:
        if value != "All":
            raise BadRequest(f'Invalid value: "{value}": supported values: "All"')


def flag(call: Call, name: str) -> bool:
    """A boolean query parameter, read as Go reads it; absent is false, present and empty is true."""
    value = call.request.query.get(name)
    return value is not None and value.lower() not in ("false", "0", "f")
