"""The administrator's list of what pods may name: HTTP services, and whether Jobs may be run. Pure.

    targets:
      - name: checkpoint
        url: https://checkpoint.storage.svc:8443/evictions
        namespaces: [shop, billing]        # or ["*"]
        allowPaths: true                   # pods may name CHECKPOINT/some/path below the URL
        caFile: /etc/vacate/hooks/ca.crt   # the system's authorities without it
        tokenFile: /etc/vacate/token       # sent as bearer token; over https only
        timeoutSeconds: 600                # the longest that a hook may take
        maxCalls: 8                        # at one time
    jobs:
      namespaces: [shop]
      timeoutSeconds: 3600

Pods name targets and never addresses, so that nothing that a pod says makes this process call another host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

import msgspec
import yaml

from vacate.api.names import dns1123_label
from vacate.errors import ConfigError

EVERYWHERE = "*"
DEFAULT_TIMEOUT, MAX_TIMEOUT = 300, 86_400
"""Seconds that a hook may take, unless the file says otherwise; and the most that it may say."""
_MAX_CALLS = 100
_URL = re.compile(r"[\x21-\x7e]+")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")
_FILE = "targets and jobs"
_FIELDS = "name, url, namespaces, allowPaths, caFile, tokenFile, timeoutSeconds and maxCalls"


class _Target(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str
    url: str
    namespaces: list[str]
    allow_paths: bool = False
    ca_file: str = ""
    token_file: str = ""
    timeout_seconds: int = DEFAULT_TIMEOUT
    max_calls: int = 8


class _Jobs(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    namespaces: list[str]
    timeout_seconds: int = DEFAULT_TIMEOUT


class _File(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    targets: list[_Target] = []
    jobs: _Jobs | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A service that pods of some namespaces may name."""

    name: str
    url: str  # without a slash at its end
    namespaces: tuple[str, ...]
    allow_paths: bool = False
    ca_file: str = ""
    token_file: str = ""
    timeout: float = DEFAULT_TIMEOUT
    max_calls: int = 8


@dataclass(frozen=True, slots=True)
class JobPermission:
    """Where pods may have Jobs run, and for how long."""

    namespaces: tuple[str, ...]
    timeout: float = DEFAULT_TIMEOUT


@dataclass(frozen=True, slots=True)
class AllowList:
    """What is allowed; an empty one allows nothing."""

    targets: Mapping[str, Target] = field(default_factory=dict)
    jobs: JobPermission | None = None


def allows(namespaces: tuple[str, ...], namespace: str) -> bool:
    """Whether the namespace is among them."""
    return EVERYWHERE in namespaces or namespace in namespaces


def read_allow_list(text: str, source: str) -> AllowList:
    """The list of a file; a ConfigError names what is wrong with it."""
    try:
        found = msgspec.convert(yaml.safe_load(text) or {}, _File)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: is not YAML: {' '.join(str(error).split())}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source}: {error}; the file has {_FILE}, a target has {_FIELDS}") from None
    except RecursionError:
        raise ConfigError(f"{source}: is nested too deeply") from None
    targets: dict[str, Target] = {}
    for index, one in enumerate(found.targets):
        where = f"{source}: targets[{index}]"
        if one.name in targets:
            raise ConfigError(f"{where}.name: {one.name!r} is named twice")
        targets[one.name] = _target(one, where)
    return AllowList(targets, _jobs(found.jobs, f"{source}: jobs") if found.jobs is not None else None)


def _target(one: _Target, where: str) -> Target:
    if wrong := dns1123_label(one.name):
        raise ConfigError(f"{where}.name: {one.name[:80]!r}: {wrong[0]}")
    if wrong_url := _url_error(one.url):
        raise ConfigError(f"{where}.url: {one.url[:80]!r} {wrong_url}")
    if one.token_file and not one.url.startswith("https://"):
        raise ConfigError(f"{where}.tokenFile: a token is sent over https only; change {where}.url")
    if not 1 <= one.max_calls <= _MAX_CALLS:
        raise ConfigError(f"{where}.maxCalls: must be between 1 and {_MAX_CALLS}")
    return Target(
        one.name,
        one.url.rstrip("/"),
        _namespaces(one.namespaces, where),
        one.allow_paths,
        one.ca_file,
        one.token_file,
        _timeout(one.timeout_seconds, where),
        one.max_calls,
    )


def _jobs(one: _Jobs, where: str) -> JobPermission:
    return JobPermission(_namespaces(one.namespaces, where), _timeout(one.timeout_seconds, where))


def _timeout(seconds: int, where: str) -> float:
    if not 1 <= seconds <= MAX_TIMEOUT:
        raise ConfigError(f"{where}.timeoutSeconds: must be between 1 and {MAX_TIMEOUT}")
    return float(seconds)


def _namespaces(names: list[str], where: str) -> tuple[str, ...]:
    if not names:
        raise ConfigError(f'{where}.namespaces: name those that may use it, or ["*"] for all')
    for name in names:
        if name != EVERYWHERE and (wrong := dns1123_label(name)):
            raise ConfigError(f"{where}.namespaces: {name[:80]!r}: {wrong[0]}")
    return tuple(names)


def _url_error(url: str) -> str:
    """What is wrong with the URL of a target, or nothing."""
    if not _URL.fullmatch(url):
        return "contains spaces, control characters or letters beyond ASCII; write host names in punycode"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is not a URL; write https://HOST[:PORT][/PATH]"
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        return "is not the URL of a service; write https://HOST[:PORT][/PATH]"
    if parts.username is not None or parts.password is not None:
        return "contains a user; put a token into a file and name it as tokenFile"
    return _rest_error(parts, url)


def _rest_error(parts: SplitResult, url: str) -> str:
    if "?" in url or "#" in url or "\\" in url:
        return "has a query, a fragment or a backslash; leave it out"
    if not _PATH.fullmatch(parts.path) or set(parts.path.split("/")) & {".", ".."}:
        return "has a path with other characters than letters, digits, - . _ ~ and /, or with . or .. in it"
    return ""
