"""Who is asking? Client certificates first, then bearer tokens, then nobody in particular."""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vacate.api.identity import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, User
from vacate.errors import ConfigError, Unauthorized
from vacate.wire.message import Peer, Request

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_ANONYMOUS = User(ANONYMOUS, (ALL_UNAUTHENTICATED,))


@dataclass(frozen=True, slots=True)
class StaticToken:
    """A token from a file, and whom it stands for."""

    token: str
    user: User


class Authenticator:
    """Identifies the caller of a request. Acting as another user is a question of rights and comes later."""

    def __init__(
        self, tokens: Mapping[str, User] | None = None, accounts: Callable[[str], User | None] | None = None
    ) -> None:
        """`accounts` reads a token of a service account; None where it is none."""
        self._tokens = {
            _digest(token): StaticToken(token, with_authenticated(user))
            for token, user in (tokens or {}).items()
        }
        self._accounts = accounts
        self._peers: dict[Peer, User] = {}

    def identify(self, request: Request) -> User:
        """The user behind the request, or Unauthorized where its token is none of ours."""
        peer = request.peer
        if peer is not None and peer.name:
            return self._peers.get(peer) or self._remember(peer)
        token = bearer_token(request.headers.get("Authorization", ""))
        return self._by_token(token) if token else _ANONYMOUS

    def _by_token(self, token: str) -> User:
        # Looking up a digest, and not the token, tells nothing about tokens by the time it takes.
        known = self._tokens.get(_digest(token))
        if known is not None and hmac.compare_digest(_bytes(known.token), _bytes(token)):
            return known.user
        user = self._accounts(token) if self._accounts is not None else None
        if user is None:
            raise Unauthorized("Unauthorized")
        return with_authenticated(user)

    def _remember(self, peer: Peer) -> User:
        if len(self._peers) >= 1024:
            self._peers.clear()
        extra = {CREDENTIAL_ID: (peer.credential_id,)} if peer.credential_id else {}
        user = with_authenticated(User(peer.name, peer.groups, extra=extra))
        self._peers[peer] = user
        return user


def with_authenticated(user: User) -> User:
    """The user, in the group of all who are identified."""
    if user.name == ANONYMOUS or ALL_AUTHENTICATED in user.groups or ALL_UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, ALL_AUTHENTICATED))


def bearer_token(header: str) -> str:
    """The token of an Authorization header, or an empty text where it holds none."""
    parts = header.strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


def read_token_file(path: Path) -> dict[str, User]:
    """Tokens from a file with lines of `token,user,uid,"group1,group2"`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"token file {path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"token file {path}: is not UTF-8 text") from error
    return parse_tokens(text, f"token file {path}")


def parse_tokens(text: str, origin: str = "token file") -> dict[str, User]:
    """Tokens and their users; ConfigError with the line where one cannot be used."""
    tokens: dict[str, User] = {}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for record in reader:
            if record:
                token, user = _read_record(record, f"{origin}, line {reader.line_num}")
                if token in tokens:
                    raise ConfigError(f"{origin}, line {reader.line_num}: token seen before; keep one line")
                tokens[token] = user
    except csv.Error as error:
        raise ConfigError(f"{origin}, line {reader.line_num}: {error}; check the quotes") from error
    return tokens


def _read_record(record: list[str], where: str) -> tuple[str, User]:
    if len(record) < 3:
        raise ConfigError(
            f"{where}: must have at least 3 columns (token, user name, user uid), found {len(record)}"
        )
    token, name, uid = record[:3]
    if not token:
        raise ConfigError(f"{where}: the token is empty; the first column must be a secret text")
    if not name:
        raise ConfigError(f"{where}: the user name is empty; the second column must say who holds the token")
    groups = tuple(group for group in record[3].split(",") if group) if len(record) > 3 else ()
    return token, User(name, groups, uid)


def _digest(token: str) -> bytes:
    return hashlib.sha256(_bytes(token)).digest()


def _bytes(token: str) -> bytes:
    return token.encode("utf-8", "surrogateescape")
