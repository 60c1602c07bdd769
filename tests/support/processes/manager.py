"""`vacate manager` as a process of its own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from support.processes.vacate import VacateProcess, ended_after


class ManagerProcess(VacateProcess):
    """A manager for the cluster of a kubeconfig."""

    def __init__(self, kubeconfig: Path, *options: str) -> None:
        super().__init__("manager", "--kubeconfig", str(kubeconfig), *options)


def managing(kubeconfig: Path, *options: str) -> AbstractContextManager[ManagerProcess]:
    """A manager for as long as the block runs."""
    return ended_after(ManagerProcess(kubeconfig, *options))
