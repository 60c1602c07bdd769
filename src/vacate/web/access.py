"""PURE. Who may see the page: a one-time token becomes a cookie, and only this machine's own page may ask.

The program listens on loopback with its user's rights on the cluster. Every other program and every web page
that the user has open could reach that port, too: a page by a name that leads to 127.0.0.1 (Host), or by a
request from elsewhere (Origin, Sec-Fetch-Site).
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass

HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not no-referrer: with that, browsers send a form without the origin that a change is checked by.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer."""

_OWN_SITES = ("", "same-origin", "none")


@dataclass(slots=True)
class Gate:
    """Decides about requests. `hosts` are the names, with port, under which the page may be asked for."""

    hosts: tuple[str, ...]
    cookie_name: str
    session: str  # the value of the cookie
    token: str  # lets one browser in, once

    def admits_token(self, token: str) -> bool:
        """Whether the token is the one; it is used up by that."""
        if not self.token or not same(token, self.token):
            return False
        self.token = ""
        return True

    def admits_session(self, value: str) -> bool:
        """Whether the cookie is ours."""
        return same(value, self.session)

    def refusal(self, method: str, headers: Mapping[str, str]) -> str:
        """Why a request is not from this page; empty where it is, or is that of a person who opens it."""
        host = headers.get("Host", "")
        if host not in self.hosts:
            return f"This page is at {self.hosts[0]}, and was asked for as {host or 'nothing'}."
        return from_elsewhere(method, headers, (f"http://{host}",))


def from_elsewhere(method: str, headers: Mapping[str, str], own: Collection[str]) -> str:
    """Whether a request comes from a page with another origin than our own; empty where it does not."""
    origin, site = headers.get("Origin"), headers.get("Sec-Fetch-Site", "")
    opens = method == "GET" and headers.get("Sec-Fetch-Mode") == "navigate"
    if (origin is not None and origin not in own) or (site not in _OWN_SITES and not opens):
        return "The request comes from a page of another site."
    if method not in ("GET", "HEAD") and origin is None:
        return "A change needs the Origin header, which browsers send."
    return ""


def same(given: str, wanted: str) -> bool:
    """Whether the secret is the one, in a time that says nothing about it."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())
