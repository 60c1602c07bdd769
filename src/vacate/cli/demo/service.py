"""The HTTP service of the demo with real processes: its log says who ended it, when and why.

A program of its own, started by its path and not imported. Its preStop hook is a request to itself, which has
the termination reason as a header. As a replicated store would, it hands its data over only where it is not
coming back.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT, HOOK_PATH, HEADER = 8080, "/pre-stop", "KUBE-POD-TERM-REASON"
DECOMMISSIONED = "Decommissioned"
CAUSES = {
    "Eviction": "an eviction",
    "IntolerableTaint": "a taint",
    DECOMMISSIONED: "a scale-down",
    "Update": "a rollout",
}
"""The reasons that Kubernetes' own parts give, and what they stand for."""
TERMINATED = "terminated by"
_log = logging.getLogger(__name__)


class Service(BaseHTTPRequestHandler):
    """Answers everything alike; before it ends, it learns why."""

    def do_GET(self) -> None:
        """A request, or the hook."""
        if self.path == HOOK_PATH:
            # The value is UTF-8, and headers are read as Latin-1.
            log_the_end(self.headers.get(HEADER, "").encode("latin-1").decode("utf-8", "replace"))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name is the base class's
        """Requests are not logged."""


def log_the_end(reason: str) -> None:
    """Say who ends the service and why, and do what follows from it."""
    _log.info("%s %s: %s", TERMINATED, CAUSES.get(reason, "a user"), reason or "no reason given")
    if reason == DECOMMISSIONED:
        _log.info("not coming back: data is handed over")
    else:
        _log.info("a replacement comes: data stays")


def _stop(*_: object) -> None:
    _log.info("stopped")
    sys.exit(0)


def main() -> None:
    """Serve until SIGTERM."""
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(
        stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%SZ"
    )
    server = ThreadingHTTPServer((os.environ["VACATE_POD_IP"], PORT), Service)
    signal.signal(signal.SIGTERM, _stop)
    _log.info("serving version %s", os.environ.get("VERSION", "1"))
    server.serve_forever()


if __name__ == "__main__":
    main()
