from __future__ import annotations

import pytest

from vacate.embedded.apiserver.request.negotiation import (
    Accepted,
    Form,
    check_content_type,
    check_plain,
    negotiate,
    wants_discovery_document,
)
from vacate.errors import NotAcceptable, UnsupportedMedia

pytestmark = pytest.mark.unit

KUBECTL_GET = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,"
    "application/json"
)


@pytest.mark.parametrize(
    ("accept", "form", "version"),
    [
        ("", Form.OBJECT, "v1"),
        ("application/json", Form.OBJECT, "v1"),
        ("application/json, */*", Form.OBJECT, "v1"),
        ("*/*", Form.OBJECT, "v1"),
        ("application/vnd.kubernetes.protobuf,application/json", Form.OBJECT, "v1"),
        (KUBECTL_GET, Form.TABLE, "v1"),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Form.TABLE, "v1beta1"),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Form.OBJECT, "v1"),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Form.METADATA_LIST, "v1"),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,*/*", Form.METADATA, "v1"),
        ("application/json;q=0.9", Form.OBJECT, "v1"),
    ],
)
def test_the_first_acceptable_form_wins(accept: str, form: Form, version: str) -> None:
    assert negotiate(accept) == Accepted(form, version)


@pytest.mark.parametrize(
    "accept", ["text/html", "application/vnd.kubernetes.protobuf", ";;;", "application/yaml"]
)
def test_forms_that_cannot_be_made_are_refused(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="application/json"):
        negotiate(accept)


@pytest.mark.parametrize(
    "content_type", ["", "application/json", "application/json; charset=utf-8", "APPLICATION/JSON"]
)
def test_json_bodies_pass(content_type: str) -> None:
    check_content_type(content_type)


@pytest.mark.parametrize("content_type", ["text/plain", "application/yaml", "multipart/form-data"])
def test_other_bodies_are_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMedia, match="unknown format"):
        check_content_type(content_type)


def test_aggregated_discovery_is_given_to_those_who_prefer_it() -> None:
    wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert wants_discovery_document(f"{wanted},application/json") == "v2"
    assert wants_discovery_document(f"application/json,{wanted}") == ""
    assert wants_discovery_document("application/json") == ""


@pytest.mark.parametrize(
    "accept",
    ["", "*/*", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io, application/json"],
)
def test_plain_answers_are_acceptable(accept: str) -> None:
    check_plain(accept)


@pytest.mark.parametrize(
    ("accept", "words"),
    [
        ("application/xml", "406: Not Acceptable\n\nAvailable representations: application/json"),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "only the following media types are accepted:"),
    ],
)
def test_plain_answers_are_not(accept: str, words: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        check_plain(accept)
    assert refused.value.message.startswith(words)


def test_parameters_that_name_no_form() -> None:
    check_plain("application/json;as=Table;v=v1;g=meta.k8s.io", forms=False)
