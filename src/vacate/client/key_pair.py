"""A certificate with its key on the way into OpenSSL, which reads both from files only.

The files are in memory and have no name in any folder: a process that is killed leaves no key behind.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator

OWNER_ONLY = 0o600


def load_key_pair(context: ssl.SSLContext, chain: bytes, key: bytes) -> None:
    """Show the certificate from now on. ssl.SSLError where it cannot be used."""
    if hasattr(os, "memfd_create"):
        with _in_memory(chain + b"\n" + key) as path:
            context.load_cert_chain(path)
        return
    with _piped(chain) as certificate_path, _piped(key) as key_path:
        try:
            context.load_cert_chain(certificate_path, key_path)
        except ssl.SSLError:
            raise
        except OSError as error:  # the ssl module takes a pipe that cannot be rewound for the cause
            raise ssl.SSLError(f"the certificate or its key cannot be used: {error}") from None


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    with os.fdopen(os.memfd_create("certificate"), "wb") as memory:
        os.fchmod(memory.fileno(), OWNER_ONLY)
        memory.write(content)
        memory.flush()
        yield f"/proc/self/fd/{memory.fileno()}"


@contextlib.contextmanager
def _piped(content: bytes) -> Iterator[str]:
    """Where there are no files in memory. A pipe holds at least 16 KiB, and a key is far smaller."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        written = os.write(writing, content)
        os.close(writing)
        if written < len(content):
            raise ssl.SSLError("the certificate is too large")
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
