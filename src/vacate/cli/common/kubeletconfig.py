"""A KubeletConfiguration in a file, as administrators have them: YAML or JSON."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import yaml

from vacate.errors import ConfigError
from vacate.features import FeatureGates
from vacate.nodeagent.pressure.thresholds import PressureConfig, read_thresholds
from vacate.nodeagent.shutdown.config import ENTRY_FIELDS, FIELDS, ShutdownConfig, read_config

MAX_CONFIG_BYTES = 1 << 20
"""A KubeletConfiguration has some kilobytes."""

_ONCE = frozenset((*FIELDS, *ENTRY_FIELDS))
"""Keys of which a second one would silently win. Other fields are none of ours."""


def read_config_file(path: Path, gates: FeatureGates) -> ShutdownConfig:
    """What the file says about shutdown."""
    return read_config(load_kubelet_config(path, "--config"), gates, f"--config: {path}")


def read_kubelet_config(path: Path | None, gates: FeatureGates) -> tuple[ShutdownConfig, PressureConfig]:
    """What the file says about shutdown and about eviction; without one both are off."""
    if path is None:
        return ShutdownConfig(), PressureConfig()
    document = load_kubelet_config(path, "--config")
    source = f"--config: {path}"
    return read_config(document, gates, source), read_thresholds(document, source)


def load_kubelet_config(path: Path, option: str) -> Any:
    """The file as it is written; ConfigError where it cannot be read, is too long, or is no YAML."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{option}: {path} cannot be read: {error.strerror}") from error
    if len(content) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{option}: {path} is longer than {MAX_CONFIG_BYTES} bytes")
    try:
        return _parse(content.decode("utf-8-sig"))
    except RecursionError:
        raise ConfigError(f"{option}: {path} is nested too deeply") from None
    except _DuplicateKey as error:
        raise ConfigError(f"{option}: {path}: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{option}: {path} is neither YAML nor JSON: {_brief(error)}") from error


def _parse(text: str) -> Any:
    if text.lstrip().startswith("{"):
        # YAML has JSON in it, except where that is indented by tabs.
        try:
            return json.loads(text, object_pairs_hook=_unique)
        except json.JSONDecodeError:
            pass  # a flow mapping of YAML
    documents = [one for one in yaml.load_all(text, _Loader) if one is not None]
    if len(documents) > 1:
        raise ValueError("it has several documents; keep the KubeletConfiguration")
    return documents[0] if documents else None


class _DuplicateKey(Exception):
    """A key that is there twice."""


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made and key in _ONCE:
            raise _DuplicateKey(f"{key} is given twice; keep one")
        made[key] = value
    return made


class _Loader(yaml.SafeLoader):
    """Safe, and refuses a key of ours that is there twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = getattr(key, "value", None)
            if isinstance(name, str) and name in _ONCE:
                if name in seen:
                    raise _DuplicateKey(f"line {key.start_mark.line + 1}: {name} is given twice; keep one")
                seen.add(name)
        return super().construct_mapping(node, deep)


def _brief(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return str(error)
