"""The network between machines, apart from their ways to the control plane: who reaches whom."""

from __future__ import annotations

from collections.abc import Callable


class MachineNetwork:
    """Links between machines, and other hosts such as a storage server. All are there until they are cut."""

    def __init__(self) -> None:
        self._cut: dict[tuple[str, str], None] = {}
        self._shut: dict[tuple[str, str], None] = {}
        self._mended: list[Callable[[], None]] = []

    def reaches(self, one: str, other: str) -> bool:
        """Whether the two hear each other."""
        return _pair(one, other) not in self._cut and not self.is_shut(one, other)

    def is_shut(self, one: str, other: str) -> bool:
        """Whether somebody has closed the way between them."""
        return _pair(one, other) in self._shut

    def shut(self, one: str, other: str) -> None:
        """Close the way between two on purpose: no link that is mended opens it."""
        self._shut[_pair(one, other)] = None

    def open(self, one: str, other: str) -> None:
        """Undo `shut`."""
        self._shut.pop(_pair(one, other), None)
        self._notify()

    def cut(self, one: str, other: str) -> None:
        """Separate two."""
        self._cut[_pair(one, other)] = None

    def mend(self, one: str, other: str) -> None:
        """Undo `cut`."""
        self._cut.pop(_pair(one, other), None)
        self._notify()

    def mend_all(self) -> None:
        """Undo every `cut`."""
        self._cut.clear()
        self._notify()

    def on_mend(self, call: Callable[[], None]) -> None:
        """Have it called after each link that is there again."""
        self._mended.append(call)

    def _notify(self) -> None:
        for call in self._mended:
            call()


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
