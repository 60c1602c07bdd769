"""What `vacate status` was asked to show, and how."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.cli.common.output import WIDE


@dataclass(frozen=True, slots=True)
class View:
    """A selection of requests, their order and their form."""

    namespace: str = ""  # empty for all
    pods: tuple[str, ...] = ()  # empty for all
    selector: str = ""
    sort_by: str = ""
    output: str = ""

    @property
    def wide(self) -> bool:
        """Whether there are more columns, and none is cut."""
        return self.output == WIDE

    @property
    def where(self) -> str:
        """The selection, as the end of a sentence."""
        labels = f" with labels {self.selector}" if self.selector else ""
        return f"{labels} in namespace {self.namespace}" if self.namespace else f"{labels} in any namespace"
