"""The arm that is the real `kubectl`: every call is a process.

GET, POST, PUT and DELETE go raw, so that the case's own path and body reach the server. There is no raw
PATCH, so patches are `kubectl patch`. What kubectl does not print, the answers do not have: status codes,
headers, details; of an Invalid answer it prints the errors and not the message.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from support.arms import arm as arms
from support.arms.arm import (
    ADMIN,
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Answer,
    As,
    Event,
    Obj,
    Query,
)
from support.arms.transport import TransportArm, event_of, json_bytes
from support.kubectl import SHORT_LIVED

_RAW = {"GET": "get", "POST": "create", "PUT": "replace", "DELETE": "delete"}
_PATCHES = {JSON_PATCH: "json", MERGE_PATCH: "merge", STRATEGIC_PATCH: "strategic"}
_FROM_SERVER = re.compile(r"Error from server(?: \((?P<reason>\w+)\))?: (?P<message>.*)", re.DOTALL)
_INVALID = re.compile(r'The (?:\S* ".*?"|request) is invalid(?:: ?(?P<errors>.*))?', re.DOTALL)
_LOGIN = re.compile(r"error: You must be logged in to the server \((?P<message>.*)\)", re.DOTALL)
_OBJECT = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)/(?:namespaces/(?P<ns>[^/]+)/)?"
    r"(?P<plural>(?!namespaces/[^/]+/(?!status$|finalize$))[^/]+)/(?P<name>[^/]+)(?:/(?P<sub>[^/]+))?"
)


class KubectlArm:
    """A cluster through kubectl; arrangements go over `beside`, another arm to the same server."""

    def __init__(self, name: str, kubectl: str, folder: Path, beside: TransportArm) -> None:
        self.name = name
        self.beside = beside
        self._kubectl = kubectl
        self._folder = folder

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Query = (),
        content_type: str = JSON,
        accept: str = JSON,
        as_user: As | None = ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        assert accept == JSON, "kubectl --raw sends no Accept header of the caller's choice"
        assert not headers, "kubectl sends no headers of the caller's choice"
        sent = json_bytes(body)
        if method == "PATCH":
            return await self._run(self._patch(path, query, content_type, sent), as_user)
        assert content_type == JSON, "kubectl --raw sends JSON"
        arguments = [_RAW[method], "--raw", _uri(path, query)]
        if sent or method in ("POST", "PUT"):
            arguments += ["-f", "-"]
        if method in ("POST", "PUT"):
            arguments.append("--validate=false")  # older ones read the schema first, for nothing
        return await self._run(arguments, as_user, sent)

    async def open_watch(
        self, path: str, query: Query = (), *, accept: str = JSON, as_user: As | None = ADMIN
    ) -> arms.Stream:
        assert accept == JSON
        query = [*arms.pairs(query), ("watch", "true")]
        return ProcessStream(await self._start(["get", "--raw", _uri(path, query)], as_user))

    async def given(self, method: str, path: str, body: Any = None, *, content_type: str = JSON) -> Obj:
        return await self.beside.given(method, path, body, content_type=content_type)

    async def drop(self, path: str) -> None:
        await self.beside.drop(path)

    async def forget_history(self) -> None:
        await self.beside.forget_history()

    async def aclose(self) -> None:
        await self.beside.aclose()

    def _patch(self, path: str, query: Query, content_type: str, sent: bytes) -> list[str]:
        matched = _OBJECT.fullmatch(path)
        assert matched is not None, path
        part = matched.groupdict()
        resource = part["plural"]
        if part["group"]:
            resource += f".{part['version']}.{part['group']}"
        arguments = ["patch", resource, part["name"], "--type", _PATCHES[content_type], "-p", sent.decode()]
        arguments += ["-o", "json"]
        arguments += ["-n", part["ns"]] if part["ns"] else []
        arguments += ["--subresource", part["sub"]] if part["sub"] else []
        for name, value in arms.pairs(query):
            assert (name, value) == ("dryRun", "All"), "kubectl patch has no such option"
            arguments.append("--dry-run=server")
        return arguments

    async def _run(self, arguments: list[str], as_user: As | None, sent: bytes = b"") -> Answer:
        process = await self._start(arguments, as_user)
        out, err = await process.communicate(sent)
        if process.returncode == 0:
            return Answer(failed=False, obj=_parsed(out), text=out.decode())
        return _refusal(err.decode())

    async def _start(self, arguments: list[str], as_user: As | None) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            self._kubectl,
            *arguments,
            *self._identity(as_user),
            "--request-timeout=60s" if "watch=true" not in arguments[-1] else "--request-timeout=0",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"HOME": str(self._folder), "PATH": os.environ.get("PATH", ""), **SHORT_LIVED},
            limit=16 * 1024 * 1024,
        )

    def _identity(self, as_user: As | None) -> list[str]:
        flags = ["--kubeconfig", str(self._folder / "kubeconfig")]
        if as_user is not None:
            assert not as_user.anonymous, "kubectl asks for a name and a password rather than go without"
            flags += ["--as", as_user.name]
            flags += [flag for group in as_user.groups for flag in ("--as-group", group)]
            flags += ["--as-uid", as_user.uid] if as_user.uid else []
        return flags


class ProcessStream:
    """A watch that a process prints."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def next(self, seconds: float = 60.0) -> Event | None:
        assert self._process.stdout is not None
        async with asyncio.timeout(seconds):
            line = await self._process.stdout.readline()
        if line:
            return event_of(line)
        _, err = await self._process.communicate()
        assert self._process.returncode == 0, err.decode()
        return None

    async def aclose(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()


def _uri(path: str, query: Query) -> str:
    encoded = urlencode(arms.pairs(query))
    path = quote(path, safe="/:@-._~!$&'()*,;=")
    return f"{path}?{encoded}" if encoded else path


def _parsed(out: bytes) -> Obj:
    try:
        value = orjson.loads(out)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _refusal(err: str) -> Answer:
    """What kubectl printed, read back."""
    lines = [line for line in err.splitlines() if not line.startswith("Warning: ")]
    text = "\n".join(lines).strip()
    if match := _FROM_SERVER.fullmatch(text):
        return Answer(failed=True, text=text, reason=match["reason"] or "", message=match["message"])
    if match := _LOGIN.fullmatch(text):
        return Answer(failed=True, text=text, reason="Unauthorized", message=match["message"])
    match = _INVALID.fullmatch(text)
    assert match is not None, f"kubectl failed by itself: {text}"
    return Answer(failed=True, text=text, reason="Invalid", field_errors=_errors(match["errors"]))


def _errors(text: str) -> tuple[str, ...]:
    if not text.startswith("\n* "):
        return (text,) if text else ()
    return tuple(part.rstrip("\n") for part in re.split(r"^\* ", text, flags=re.MULTILINE)[1:])
