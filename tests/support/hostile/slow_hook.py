"""An admission webhook that keeps an API server waiting for as long as a test wants."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.certificates import Authority
from support.https import Obj


class SlowHook:
    """Allows everything, once it is let go."""

    def __init__(self) -> None:
        self.arrived, self.let_go = threading.Event(), threading.Event()
        self._authority = Authority()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.socket = self._context().wrap_socket(self._server.socket, server_side=True)

    def configuration(self, name: str, rule: Obj, namespace: str) -> Obj:
        """Send it what matches the rule in a namespace."""
        port = self._server.server_address[1]
        bundle = base64.b64encode(self._authority.pem).decode()
        hook = {
            "name": f"{name}.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 30,
            "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": bundle},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [rule],
        }
        return {"metadata": {"name": name}, "webhooks": [hook]}

    @contextmanager
    def listening(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.let_go.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join(60)

    def _context(self) -> ssl.SSLContext:
        pair = self._authority.issue("slow")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # the ssl module reads files only
            file.write(pair.certificate + pair.key)
            file.flush()
            context.load_cert_chain(file.name)
        return context

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        arrived, let_go = self.arrived, self.let_go

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                arrived.set()
                let_go.wait(60)
                answer = {"uid": review["request"]["uid"], "allowed": True}
                body = json.dumps({**review, "request": None, "response": answer}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args: object) -> None:
                """Nobody reads it."""

        return Handler
