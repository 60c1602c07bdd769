"""One request on its way through the server: who asks for what, and when."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from vacate.api.fielderrors import not_supported
from vacate.api.identity import User
from vacate.api.kinds import Kind
from vacate.embedded.apiserver.fieldvalidation import FieldValidation
from vacate.errors import Invalid
from vacate.wire.message import Request

_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


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
    validation: FieldValidation = field(default_factory=FieldValidation)

    @property
    def dry_run(self) -> bool:
        """Whether the query asks for `dryRun=All`; any other directive is Invalid."""
        return bool(dry_run_directives(self.request))


def dry_run_directives(request: Request) -> list[str]:
    """The directives of the query, every one of them `All`, or Invalid."""
    given = request.query.getall("dryRun", [])
    if all(value == "All" for value in given):
        return given
    options = _OPTIONS.get(request.method, "CreateOptions")
    field_error = not_supported("dryRun", given, ("All",))
    details = {"group": "meta.k8s.io", "kind": options, "causes": [field_error.cause()]}
    raise Invalid(f'{options}.meta.k8s.io "" is invalid: {field_error}', details=details)
