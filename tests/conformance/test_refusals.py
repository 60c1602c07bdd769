"""What no server can do: unknown addresses, methods, forms and bodies."""

from __future__ import annotations

import orjson
import pytest

from support.arms.caseapi import CaseApi, names
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import config_map
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, NODES, PODS

pytestmark = CONFORMANCE

UNKNOWN = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"
raw_bytes = without("kubectl", because="kubectl would read the body as an object before it sends it")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/unheardofs",
        "/apis/apps/v1/unheardofs",
        "/api/v1/namespaces/default/unheardofs/x",
        "/api/v1/namespaces/default/configmaps/x/unheardof",
        "/api/v1/namespaces/default/nodes",
    ],
)
async def test_unknown_resources(api: CaseApi, path: str) -> None:
    answer = await api.arm.call("GET", path)
    answer.refused(404, "NotFound", UNKNOWN)
    assert answer.details in (None, {})
    assert "details" in answer.obj or not answer.obj


@pytest.mark.parametrize("path", ["/nothing", "/apis/nothing.example", "/apis/nothing.example/v1/things"])
async def test_unknown_paths(api: CaseApi, path: str) -> None:
    answer = await api.arm.call("GET", path)
    assert answer.failed
    if answer.code is not None:
        assert (answer.code, answer.text) == (404, "404 page not found\n")
    else:
        answer.refused(404, "NotFound", UNKNOWN)


async def test_methods_that_a_collection_does_not_take(api: CaseApi) -> None:
    answer = await api.ask("PUT", CONFIGMAPS, body=config_map("m"))
    answer.refused(405, "MethodNotAllowed", NOT_ALLOWED)
    assert "details" in answer.obj or not answer.obj


async def test_methods_that_an_object_does_not_take(api: CaseApi) -> None:
    answer = await api.ask("POST", CONFIGMAPS, "m", body=config_map("m"))
    answer.refused(405, "MethodNotAllowed", NOT_ALLOWED)


async def test_creating_without_a_namespace(api: CaseApi) -> None:
    answer = await api.arm.call("POST", CONFIGMAPS.collection_path(), body=config_map("m"))
    answer.refused(405, "MethodNotAllowed", NOT_ALLOWED)


async def test_a_body_of_another_kind(api: CaseApi) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    answer = await api.ask("POST", PODS, body=body)
    answer.refused(400, "BadRequest", starting='ConfigMap in version "v1" cannot be handled as a Pod: ')


async def test_a_body_of_another_kind_is_read_as_that(api: CaseApi) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"a": 1}}}
    answer = await api.arm.call("POST", api.at(PODS), body=orjson.dumps(body))
    answer.refused(400, "BadRequest", starting='ConfigMap in version "v1" cannot be handled as a Pod: ')
    assert "labels" in (answer.message or "labels")


async def test_a_body_of_an_unknown_kind(api: CaseApi) -> None:
    body = {"apiVersion": "v1", "kind": "Unheard", "metadata": {"name": "x"}}
    answer = await api.ask("POST", PODS, body=body)
    why = 'no kind "Unheard" is registered for version "v1"'
    answer.refused(400, "BadRequest", starting=f'Unheard in version "v1" cannot be handled as a Pod: {why}')


async def test_a_body_of_an_unknown_version(api: CaseApi) -> None:
    body = {"apiVersion": "apps/v9", "kind": "Deployment", "metadata": {"name": "x"}}
    answer = await api.ask("POST", DEPLOYMENTS, body=body)
    why = 'no kind "Deployment" is registered for version "apps/v9"'
    start = f'Deployment in version "v9" cannot be handled as a Deployment: {why}'
    answer.refused(400, "BadRequest", starting=start)


async def test_fields_of_a_wrong_type(api: CaseApi) -> None:
    answer = await api.ask("POST", CONFIGMAPS, body={"metadata": {"name": "m"}, "data": {"a": 1}})
    message = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
    answer.refused(400, "BadRequest", starting=message)


BROKEN = {
    "truncated": b'{"metadata":{"name":"m"}',
    "no-json": b"metadata: {}",
    "number": b"5",
    "list": b"[]",
    "text": b'"m"',
}


@pytest.mark.parametrize("case", BROKEN)
async def test_broken_bodies(api: CaseApi, case: str) -> None:
    answer = await api.ask("POST", CONFIGMAPS, body=BROKEN[case])
    start = (
        "the object provided is unrecognized (must be of type ConfigMap): "
        "couldn't get version/kind; json parse error: "
    )
    answer.refused(400, "BadRequest", starting=start)
    assert "m" not in names(await api.listed(CONFIGMAPS))


async def test_an_empty_body(api: CaseApi) -> None:
    answer = await api.arm.call("POST", api.at(CONFIGMAPS), body=b"", content_type="application/json")
    message = "the object provided is unrecognized (must be of type ConfigMap): "
    answer.refused(400, "BadRequest", starting=message)


@raw_bytes
async def test_a_body_that_is_too_long(api: CaseApi) -> None:
    body = config_map("m", a="x" * (3 * 1024 * 1024))
    answer = await api.ask("POST", CONFIGMAPS, body=body)
    answer.refused(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")


@without("kubectl", because="kubectl --raw sends JSON")
async def test_a_body_in_an_unknown_form(api: CaseApi) -> None:
    answer = await api.ask("POST", CONFIGMAPS, body=b"x", content_type="text/plain")
    start = (
        "the body of the request was in an unknown format - accepted media types include: application/json"
    )
    answer.refused(415, "UnsupportedMediaType", starting=start)


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a..b"])
async def test_bad_names(api: CaseApi, name: str) -> None:
    rule = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    answer = await api.post(CONFIGMAPS, config_map(name))
    field_error = f'metadata.name: Invalid value: "{name}": {rule}'
    answer.refused(
        422, "Invalid", f'ConfigMap "{name}" is invalid: {field_error}', field_errors=[field_error]
    )


async def test_a_node_lives_in_no_namespace(api: CaseApi) -> None:
    created = await api.create(NODES, {"metadata": {"name": api.unique("n"), "namespace": "default"}})
    assert "namespace" not in created["metadata"]
