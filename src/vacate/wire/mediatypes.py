"""Media types of requests."""

from __future__ import annotations

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

JSON = "application/json"


def media_type(content_type: str) -> str:
    """The bare media type, without parameters."""
    return _parse(content_type)[0]


def _parse(clause: str) -> tuple[str, dict[str, str]]:
    media, *rest = clause.split(";")
    parameters = {}
    for item in rest:
        key, _, value = item.partition("=")
        parameters[key.strip()] = value.strip().strip('"')
    return media.strip().lower(), parameters
