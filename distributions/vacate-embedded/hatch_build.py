"""The dependencies: Vacate of this very version, as both are parts of one package."""

from __future__ import annotations

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Dependencies(MetadataHookInterface):
    """Called by hatchling while it builds."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add what is dynamic, beside the version."""
        metadata["dependencies"] = [
            f"vacate=={metadata['version']}",
            "cel-expr-python>=0.1.3,<0.2",  # evaluates the rules of CRDs and policies
        ]
