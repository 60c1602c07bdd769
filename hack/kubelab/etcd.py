"""Requests to etcd itself, in the JSON that it takes beside gRPC."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

_ANSWER_SECONDS = 10.0


class Etcd:
    """The etcd at one address."""

    def __init__(self, address: str) -> None:
        self._address = address

    def compact(self) -> None:
        """Forget all revisions but the newest of every key."""
        revision = self._ask("kv/range", {"key": "AA=="})["header"]["revision"]
        self._ask("kv/compaction", {"revision": revision, "physical": True})

    def _ask(self, what: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(f"{self._address}/v3/{what}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
            return json.load(answer)
