"""A program of others that answers over HTTPS on this machine: a webhook, an extension server, a service."""

from __future__ import annotations

import contextlib
import json
import ssl
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from support.certificates import Authority

S = TypeVar("S", bound="TlsServer")


class JsonHandler(BaseHTTPRequestHandler):
    """Reads and writes JSON, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def sent(self) -> Any:
        """The body of the request."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, obj: Any, code: int = 200, **headers: str) -> None:
        """Send an object, or bytes as they are."""
        body = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the base class has it
        """Nothing."""


class TlsServer(ThreadingHTTPServer):
    """On a free port, with a certificate of an authority of its own."""

    daemon_threads = True

    def __init__(self, handler: type[JsonHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.authority = Authority()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pair = self.authority.issue("server")
        with tempfile.NamedTemporaryFile("wb", suffix=".pem") as file:  # the ssl module reads files only
            file.write(pair.certificate + pair.key)
            file.flush()
            context.load_cert_chain(file.name)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may leave, or refuse the certificate."""


@contextlib.contextmanager
def serving(server: S) -> Iterator[S]:
    """The server answers for as long as the block runs."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
