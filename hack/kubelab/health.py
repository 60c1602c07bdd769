"""Asking programs whether they are ready, as their administrator."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from pathlib import Path

_ANSWER_SECONDS = 5.0


class Probe:
    """One address that answers 200 once the program behind it is ready."""

    def __init__(self, url: str, *, trusted: Path | None = None, identity: Path | None = None) -> None:
        self.url = url
        self._trusted = trusted
        self._identity = identity

    def failure(self) -> str:
        """Why the program is not ready, or nothing."""
        try:
            with urllib.request.urlopen(self.url, timeout=_ANSWER_SECONDS, context=self._context()) as answer:
                return "" if answer.status == 200 else f"answers {answer.status}"
        except urllib.error.HTTPError as error:
            with error:
                return f"answers {error.code}: {error.read(2000).decode(errors='replace')}"
        except (OSError, http.client.HTTPException) as error:
            return str(error)

    def read(self) -> bytes:
        """What the program says at the address; OSError where it does not."""
        with urllib.request.urlopen(self.url, timeout=_ANSWER_SECONDS, context=self._context()) as answer:
            content: bytes = answer.read()
            return content

    def _context(self) -> ssl.SSLContext | None:
        if not self.url.startswith("https:"):
            return None
        context = ssl.create_default_context(cafile=self._trusted)
        if self._identity is not None:
            context.load_cert_chain(self._identity)
        return context
