"""A service that is a hook: flushes a pod's data before the pod is evicted, a piece for each call.

    python service.py ALLOW_LIST

It listens on a free port of this machine and writes the allow-list for `vacate hooks` that names it.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PIECES = 3
flushed: dict[str, int] = {}  # pieces by idempotency key: the same call may come any number of times


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key, pod = call["idempotencyKey"], call["pod"]["name"]
        done = flushed[key] = min(flushed.get(key, 0) + 1, PIECES)
        message = f"{done} of {PIECES} pieces of {pod} are flushed"
        answer = {"message": message, "percent": 100 * done / PIECES, "retryAfterSeconds": 1}
        body = json.dumps(answer).encode()
        self.send_response(200 if done == PIECES or call["action"] == "Cancel" else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        print(f"service: {call['action']} {pod}: {done} of {PIECES}", flush=True)

    def log_message(self, *_: object) -> None:
        """Quiet."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    url = f"http://127.0.0.1:{server.server_port}/flush"
    target = {"name": "flush", "url": url, "namespaces": ["vacate-example-07"]}
    written = Path(sys.argv[1] + ".new")
    written.write_text(json.dumps({"targets": [target]}))  # JSON is YAML
    written.rename(sys.argv[1])
    server.serve_forever()
