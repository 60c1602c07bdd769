"""What `vacate status` was asked to show, and how."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.cli.common.output import WIDE
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST


@dataclass(frozen=True, slots=True)
class View:
    """A selection of requests, their order and their form."""

    namespace: str = ""  # empty for all
    pods: tuple[str, ...] = ()  # empty for all
    selector: str = ""
    sort_by: str = ""
    output: str = ""
    dialect: Dialect = EVICTION_REQUEST  # the API whose requests are shown

    @property
    def wide(self) -> bool:
        """Whether there are more columns, and none is cut."""
        return self.output == WIDE

    @property
    def where(self) -> str:
        """The selection, as the end of a sentence."""
        labels = f" with labels {self.selector}" if self.selector else ""
        return f"{labels} in namespace {self.namespace}" if self.namespace else f"{labels} in any namespace"
