"""Which form a client wants: the object itself, a Table, or only the metadata; and what it may send."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from vacate.embedded.schema import protobuf
from vacate.errors import NotAcceptable, UnsupportedMedia
from vacate.wire.mediatypes import JSON, _parse

_WILDCARDS = ("*/*", "application/*")
_META_GROUP = "meta.k8s.io"
_META_VERSIONS = ("v1", "v1beta1")


class Form(enum.Enum):
    """The shape of an answer."""

    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was agreed on."""

    form: Form = Form.OBJECT
    version: str = "v1"  # of the meta.k8s.io form


_PLAIN = Accepted()
NOT_ACCEPTABLE = f"406: Not Acceptable\n\nAvailable representations: {JSON}"
_FORMS = {
    "Table": Form.TABLE,
    "PartialObjectMetadata": Form.METADATA,
    "PartialObjectMetadataList": Form.METADATA_LIST,
}


def negotiate(accept: str) -> Accepted:
    """The first acceptable form of an Accept header; NotAcceptable where there is none."""
    if not accept or accept == JSON:
        return _PLAIN
    speaks_json = False
    for clause in accept.split(","):
        media, parameters = _parse(clause)
        if media != JSON and media not in _WILDCARDS:
            continue
        speaks_json = True
        wanted = parameters.get("as")
        if wanted is None and "g" not in parameters and "v" not in parameters:
            return _PLAIN
        form = _FORMS.get(wanted or "")
        if form and parameters.get("g") == _META_GROUP and parameters.get("v") in _META_VERSIONS:
            return Accepted(form, parameters["v"])
    raise no_such_form() if speaks_json else NotAcceptable(NOT_ACCEPTABLE, details={})


def no_such_form() -> NotAcceptable:
    """The refusal of a form of JSON that this answer does not have."""
    return NotAcceptable(f"only the following media types are accepted: {JSON}")


def check_plain(accept: str, *, forms: bool = True) -> None:
    """Refuse an Accept header that leaves no room for a plain answer; `forms` where parameters name forms."""
    speaks_json = not accept
    for clause in accept.split(","):
        media, parameters = _parse(clause)
        if media == JSON or media in _WILDCARDS:
            speaks_json = True
            if not forms or not parameters.keys() & {"as", "g", "v"}:
                return
    if accept:
        raise no_such_form() if speaks_json else NotAcceptable(NOT_ACCEPTABLE, details={})


def wants_discovery_document(accept: str) -> str:
    """The version of an aggregated discovery document that the client prefers over a plain one, or ''."""
    for clause in accept.split(","):
        media, parameters = _parse(clause)
        if media == JSON and "as" not in parameters:
            return ""
        if (
            media == JSON
            and parameters.get("g") == "apidiscovery.k8s.io"
            and parameters.get("as") == "APIGroupDiscoveryList"
            and parameters.get("v") in ("v2", "v2beta1")
        ):
            return parameters["v"]
    return ""


def check_content_type(content_type: str) -> None:
    """Refuse a body that is not JSON; no content type at all means JSON. Protobuf is read elsewhere."""
    media, _ = _parse(content_type)
    named = [part for part in content_type.split(";")[1:] if part.strip()]
    if content_type and (media != JSON or not all("=" in part for part in named)):
        raise UnsupportedMedia(
            "the body of the request was in an unknown format - accepted media types include: "
            f"{JSON}, {protobuf.MEDIA_TYPE}"
        )
