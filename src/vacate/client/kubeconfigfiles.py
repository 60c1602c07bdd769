"""Kubeconfig files: reading, merging, and fields whose errors name file, field and remedy."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vacate.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Entry:
    """A named part of a kubeconfig file: a cluster, a user or a context."""

    file: Path
    where: str  # as in `users[admin].user`
    fields: Mapping[str, Any]

    def text(self, field: str) -> str:
        """A string field, empty where it is missing."""
        value = self.fields.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(field, "must be a string", "put it in quotes")
        return value

    def flag(self, field: str) -> bool:
        """A true or false field."""
        value = self.fields.get(field, False)
        if not isinstance(value, bool):
            raise self.wrong(field, f"must be true or false, not {value!r}", "remove the quotes")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self.fields.get(field) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(field, "must be a list of strings", "write one `- …` per line")
        return tuple(value)

    def path(self, field: str) -> Path | None:
        """A file name, relative to the kubeconfig's own folder."""
        text = self.text(field)
        return self.file.parent / text if text else None

    def pem(self, field: str) -> bytes:
        """Inline base64 data, or else the content of the file that the field names."""
        data = self.text(f"{field}-data")
        if data:
            try:
                return base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                raise self.wrong(
                    f"{field}-data", "is not base64", "encode the PEM file with base64"
                ) from None
        path = self.path(field)
        if path is None:
            return b""
        try:
            return path.read_bytes()
        except OSError as error:
            reason = f"{path} cannot be read: {error.strerror}"
            raise self.wrong(field, reason, "correct the path or its permissions") from None

    def wrong(self, field: str, problem: str, remedy: str) -> ConfigError:
        """An error about one field."""
        return ConfigError(f"{self.file}: {self.where}.{field}: {problem}; {remedy}")


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Several files merged: of two entries with one name the first wins."""

    files: tuple[Path, ...]
    current_context: str
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]
    contexts: Mapping[str, Entry]


def default_files(environ: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """The files of KUBECONFIG, or ~/.kube/config."""
    values = os.environ if environ is None else environ
    named = [Path(part) for part in values.get("KUBECONFIG", "").split(os.pathsep) if part]
    return tuple(named) or (Path(values.get("HOME", "~")).expanduser() / ".kube" / "config",)


def read_kubeconfig(files: Sequence[Path]) -> Kubeconfig:
    """Read and merge. A single file must exist; of several, those that do not are skipped."""
    documents = [(file, document) for file in files if (document := _load(file)) is not None]
    if not documents:
        names = ", ".join(map(str, files))
        raise ConfigError(f"{names}: no such kubeconfig file; set KUBECONFIG or name another")
    return Kubeconfig(
        files=tuple(file for file, _ in documents),
        current_context=next(
            (str(doc["current-context"]) for _, doc in documents if doc.get("current-context")), ""
        ),
        clusters=_merge(documents, "clusters", "cluster"),
        users=_merge(documents, "users", "user"),
        contexts=_merge(documents, "contexts", "context"),
    )


def _load(file: Path) -> dict[str, Any] | None:
    """What the file says; None where there is no such file."""
    try:
        document = yaml.safe_load(file.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problem = f"cannot be read: {error.strerror}; check the path and its permissions"
        raise ConfigError(f"{file}: {problem}") from None
    except RecursionError:
        raise ConfigError(f"{file}: is nested too deeply; correct it or make a new one") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: no UTF-8, or a date that does not exist
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = f" near line {line + 1}" if line is not None else ""
        raise ConfigError(f"{file}: is not YAML{where}; correct it or make a new one") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: must be a mapping with clusters, users and contexts")
    return document


def _merge(documents: Sequence[tuple[Path, dict[str, Any]]], plural: str, singular: str) -> dict[str, Entry]:
    merged: dict[str, Entry] = {}
    for file, document in documents:
        items = document.get(plural) or []
        if not isinstance(items, list):
            raise ConfigError(f"{file}: {plural}: must be a list; write `- name: …` for each")
        for number, item in enumerate(items):
            name = item.get("name") if isinstance(item, dict) else None
            if not isinstance(name, str) or not name:
                raise ConfigError(f"{file}: {plural}[{number}].name: is missing; give the entry a name")
            where, fields = f"{plural}[{name}].{singular}", item.get(singular) or {}
            if not isinstance(fields, dict):
                raise ConfigError(f"{file}: {where}: must be a mapping; indent its fields")
            merged.setdefault(name, Entry(file, where, fields))
    return merged
