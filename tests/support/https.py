"""Plain blocking HTTPS requests to a cluster, with nothing of the product between test and wire."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from support.yaml_text import yaml_document

Obj = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What came back."""

    code: int
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def obj(self) -> Obj:
        parsed: Obj = json.loads(self.body)
        return parsed

    def ok(self) -> Obj:
        """The object of a successful answer."""
        assert self.code < 300, f"{self.code}: {self.text}"
        return self.obj


class Https:
    """One identity at one server; each request is a connection of its own unless it is kept by the caller."""

    def __init__(
        self, server: str, ca: str, certificate: tuple[str, str] | None = None, token: str = ""
    ) -> None:
        self._server = urllib.parse.urlsplit(server)
        self._token = token
        self._ca = ca
        self.address = server
        self._context = ssl.create_default_context(cadata=ca)
        if certificate is not None:
            _use_certificate(self._context, *certificate)

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Https:
        """The identity of the file's only user."""
        return cls._from_text(path.read_text())

    @classmethod
    @lru_cache(maxsize=64)  # tests ask again and again, and certificates take their time
    def _from_text(cls, text: str) -> Https:
        config = yaml_document(text)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        pair = _pem(user, "client-certificate-data"), _pem(user, "client-key-data")
        return cls(cluster["server"], _pem(cluster, "certificate-authority-data"), pair)

    def anonymous(self) -> Https:
        """The same server without credentials."""
        return Https(self.address, self._ca)

    def with_token(self, token: str) -> Https:
        """The same server with a bearer token."""
        return Https(self.address, self._ca, token=token)

    def connect(self) -> http.client.HTTPSConnection:
        """A connection of its own."""
        host, port = self._server.hostname or "", self._server.port
        return http.client.HTTPSConnection(host, port, timeout=60, context=self._context)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        connection: http.client.HTTPSConnection | None = None,
    ) -> Reply:
        """One request; OSError or HTTPException where the server does not answer."""
        sent = {"Content-Type": content_type, **(headers or {})}
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        open_connection = connection or self.connect()
        try:
            open_connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = open_connection.getresponse()
            return Reply(answer.status, answer.read())
        finally:
            if connection is None:
                open_connection.close()

    def get(self, path: str) -> Reply:
        """A GET."""
        return self.call("GET", path)

    def create(self, path: str, body: Obj) -> Obj:
        """A POST that must succeed."""
        return self.call("POST", path, body).ok()

    def patch(self, path: str, body: Obj) -> Obj:
        """A merge patch that must succeed."""
        return self.call("PATCH", path, body, content_type="application/merge-patch+json").ok()

    def delete(self, path: str) -> Obj:
        """A DELETE that must succeed."""
        return self.call("DELETE", path).ok()


def _pem(entry: Obj, field: str) -> str:
    return base64.b64decode(entry[field]).decode()


def _use_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # the ssl module reads files only
        file.write(certificate + key)
        file.flush()
        context.load_cert_chain(file.name)
