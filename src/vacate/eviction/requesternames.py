"""PURE. Names of requesters that are derived from other names, within what an API can hold."""

from __future__ import annotations

import hashlib

DIGEST = 10
"""How many characters of a digest a name ends in."""


def fitted_requester(name: str, suffix: str, limit: int) -> str:
    """`NAME.SUFFIX`; where that is too long, NAME is cut and ends in a digest of the whole.

    The suffix says what kind of requester it is and stays. Two long names that begin alike stay apart.
    """
    whole = f"{name}.{suffix}"
    if len(whole) <= limit:
        return whole
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:DIGEST]
    room = limit - len(suffix) - len(digest) - 2  # a dot and a hyphen
    return f"{name[:room].rstrip('-.')}-{digest}.{suffix}"
