"""What a server does with the objects of a kind, compiled from the kind's schema on first use."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from vacate.api.fielderrors import FieldError
from vacate.api.objects import Obj
from vacate.crds.schema.fastcheck import fits, knows
from vacate.crds.schema.generate import structural_schema
from vacate.crds.schema.prune import defaulter, pruner
from vacate.crds.schema.sizes import Sizes
from vacate.crds.schema.unknownfields import unknown_paths
from vacate.crds.schema.validation import structural_errors


class Structure:
    """Prunes, fills in and checks the objects of one kind."""

    def __init__(self, schema: Obj) -> None:
        self._schema = schema
        self._status = schema["properties"]["status"]
        self._prune = pruner(schema)
        self._fill = defaulter(schema)
        self._fits = fits(schema)
        self._status_fits = fits(self._status)
        self._knows = knows(schema)
        self.sizes = Sizes(schema)

    def prune(self, obj: Any) -> None:
        """Take away what the schema does not know, and nulls, which mean the same as nothing."""
        self._prune(obj)

    def fill_defaults(self, obj: Any) -> None:
        """Put defaults where nothing was given, also below objects that are there already."""
        if self._fill is not None:
            self._fill(obj)

    def field_errors(self, obj: Any) -> list[FieldError]:
        """Every error of a whole object."""
        return [] if self._fits(obj) else structural_errors(self._schema, obj)

    def status_errors(self, status: Any) -> list[FieldError]:
        """Every error of a status."""
        return [] if self._status_fits(status) else structural_errors(self._status, status, "status")

    def unknown(self, obj: Any) -> list[str]:
        """The paths of the fields that the schema does not know."""
        known = self._knows is None or self._knows(obj)
        return [] if known else unknown_paths(self._schema, obj)


@cache
def structure(struct: type[msgspec.Struct]) -> Structure:
    """The structure of the objects of this struct."""
    return Structure(structural_schema(struct))
