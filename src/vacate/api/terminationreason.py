"""Why a pod is terminated: common reasons, what a reason may look like, and how hooks receive it.

A reason is one line of text from someone who may delete the pod, and it is handed to programs of the pod's
author: as the value of an environment variable or of an HTTP header. So it has a limit, and no characters
that could end a line, hide text, or reverse it.
"""

from __future__ import annotations

import re

from vacate.api.names import env_name

GATE = "PodTerminationReason"

EVICTION = "Eviction"
INTOLERABLE_TAINT = "IntolerableTaint"
DECOMMISSIONED = "Decommissioned"
UPDATE = "Update"

DEFAULT_ENV = "KUBE_POD_TERM_REASON"
DEFAULT_HEADER = "KUBE-POD-TERM-REASON"

ANNOTATION = "vacate.dev/termination-reason"
"""Stands for `metadata.reason` where the API server has no such field."""
SOURCE_ANNOTATION = "vacate.dev/termination-reason-source"
"""Marks a reason that was concluded, and by whom: such a one may be replaced by a later conclusion."""
DELIVERY_ANNOTATION = "vacate.dev/reason-delivery."
"""With a container's name behind it: stands for `lifecycle.preStop.reasonDelivery`, as `env=NAME`."""

WRAP = "vacate.dev/wrap-prestop-hooks"
"""`true` as a label of a namespace: hooks of its new pods are wrapped; `false` as an annotation of a pod."""
SERVICE_ANNOTATION = "vacate.dev/reason-service"
"""Tells the wrapper of a pod's hooks whom to ask: a URL, and the address behind its name."""
AUTHORITY_ANNOTATION = "vacate.dev/reason-authority"
"""Tells it whose certificates to trust, PEM."""
AUDIENCE = "reasons.vacate.dev"
"""Of the tokens by which pods ask for their reason; API servers take no such token."""

MAX_BYTES = 1024

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MESSAGE_HEADERS = frozenset(
    ("connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding",
     "upgrade")
)  # fmt: skip


def reason_complaints(reason: str) -> list[str]:
    """What is wrong with the text as a reason; an empty list means that it is well formed."""
    found: list[str] = []
    if len(reason.encode("utf-8", errors="replace")) > MAX_BYTES:
        found.append(f"may not be more than {MAX_BYTES} bytes")
    if not reason.isprintable():
        found.append("must be one line of printable characters and spaces")
    if reason != reason.strip():
        found.append("must not begin or end with a space")
    if reason.startswith("-"):
        found.append("must not begin with '-': a command could take it for an option")
    return found


def clean_reason(reason: str) -> str:
    """The text as a well-formed reason: for reasons that no server has checked, such as annotations."""
    printable = "".join(char if char.isprintable() else " " for char in reason[: 4 * MAX_BYTES])
    cut = printable.lstrip("- ").encode("utf-8")[:MAX_BYTES]
    return cut.decode("utf-8", errors="ignore").strip()


def header_complaints(name: str) -> list[str]:
    """What is wrong with the name of a header that carries a reason."""
    if not _TOKEN.fullmatch(name):
        return ["must be the name of an HTTP header: letters, digits and !#$%&'*+-.^_`|~"]
    if name.lower() in _MESSAGE_HEADERS:
        return ["must not be a header by which HTTP delimits or routes messages; choose another name"]
    return []


def delivery_name(given: object, key: str, where: str) -> tuple[str, str]:
    """The name of the variable (`env`) or `header` of a hook, and why it is the default although another was
    asked for: `given` is a reasonDelivery, and `where` it was found.
    """
    default, complain = (DEFAULT_ENV, env_name) if key == "env" else (DEFAULT_HEADER, header_complaints)
    name = given.get(key) if isinstance(given, dict) else None
    if not isinstance(name, str):
        return default, f"{where} has no {key}, which this hook needs; using {default}"
    if wrong := complain(name):
        return default, f"{where}: {key} {name!r}: {wrong[0]}; using {default}"
    return name, ""


def annotated_delivery(container: str, annotation: str | None, key: str) -> tuple[str, str]:
    """The same, of the annotation that stands for the field; the default where there is none."""
    if annotation is None:
        return (DEFAULT_ENV if key == "env" else DEFAULT_HEADER), ""
    asked, _, value = annotation.partition("=")
    return delivery_name({asked.strip(): value.strip()}, key, f"annotation {DELIVERY_ANNOTATION}{container}")
