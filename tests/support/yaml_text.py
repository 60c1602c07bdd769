"""YAML that a test reads: by libyaml where it is there, since an installation takes the other reader long."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def yaml_document(text: str) -> Any:
    """The only document of the text."""
    return yaml.load(text, _LOADER)


def yaml_documents(text: str) -> list[Any]:
    """All documents of the text."""
    return list(yaml.load_all(text, _LOADER))
