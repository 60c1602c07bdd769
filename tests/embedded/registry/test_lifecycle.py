"""What the state of a namespace refuses."""

from __future__ import annotations

import pytest

from vacate.api.kinds import PODS
from vacate.api.status import to_status
from vacate.embedded.registry.core.namespacelifecycle import creation_refusal

pytestmark = pytest.mark.unit

POD = {"metadata": {"name": "web"}}


def test_nothing_is_created_in_a_namespace_that_does_not_exist() -> None:
    refusal = creation_refusal(PODS, POD, "shop", None)
    assert refusal is not None
    assert (refusal.status_code, refusal.message) == (404, 'namespaces "shop" not found')


def test_nothing_is_created_in_a_namespace_that_terminates() -> None:
    refusal = creation_refusal(PODS, POD, "shop", {"status": {"phase": "Terminating"}})
    assert refusal is not None
    status = to_status(refusal)
    assert status["code"] == 403
    assert status["message"] == (
        'pods "web" is forbidden: '
        "unable to create new content in namespace shop because it is being terminated"
    )
    assert status["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace shop is being terminated",
            "field": "metadata.namespace",
        }
    ]


def test_an_active_namespace_takes_what_comes() -> None:
    active = {"status": {"phase": "Active"}}
    assert creation_refusal(PODS, POD, "shop", active) is None
