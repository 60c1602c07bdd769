"""`vacate webhook` as a process of its own."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path

from support.processes.vacate import VacateProcess, ended_after
from support.waiting import until

_REVIEWS = re.compile(r"taking reviews on https://127\.0\.0\.1:(\d+)")


class WebhookProcess(VacateProcess):
    """A webhook for the cluster of a kubeconfig."""

    def __init__(self, kubeconfig: Path, *options: str, port: int = 0) -> None:
        where = ("--address", "127.0.0.1", "--port", str(port))
        super().__init__("webhook", "--kubeconfig", str(kubeconfig), *where, *options)

    @property
    def port(self) -> int:
        """Where it takes reviews, once it does."""
        return int(self.printed(_REVIEWS))

    def wait_ready(self) -> WebhookProcess:
        """Return once it says so itself."""
        until(lambda: self.process.poll() is not None or self.get("/readyz")[0] == 200)
        assert self.process.poll() is None, self.output
        return self


def running_webhook(kubeconfig: Path, *options: str, port: int = 0) -> AbstractContextManager[WebhookProcess]:
    """A webhook for as long as the block runs."""
    return ended_after(WebhookProcess(kubeconfig, *options, port=port))
