"""Every combination of the gates: it is refused, or whatever is served and registered has its controllers."""

from __future__ import annotations

import itertools

import pytest

from vacate.admission.pods.workloads import WORKLOADS
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS
from vacate.crds.catalogue import DECLARATIONS
from vacate.embedded.registry.kinds import served_kinds
from vacate.errors import ConfigError
from vacate.features import KNOWN_GATES, REQUIRED_GATES, FeatureGates, parse_feature_gates
from vacate.wiring.controllers import enabled

pytestmark = pytest.mark.unit

GATES = tuple(
    gate for gate in KNOWN_GATES if gate in REQUIRED_GATES or gate in {one.kind.gate for one in DECLARATIONS}
)
CONTROLLER_OF = {
    "evictionrequests": "evictionrequest-controller",
    "evacuations": "evacuation-controller",
    "nodemaintenances": "nodemaintenance-controller",
    "fencingpolicies": "fencing-controller",
    "deschedulingpolicies": "descheduling-controller",
}
# By interceptor: its controllers by API, and those that do what its turns wait for.
SURGE = ("surge-controller",)
FLOOR = (*SURGE, "autoscaler-floor-controller")
INTERCEPTORS = {
    "deployment.apps.k8s.io": ("deployment-evacuator", SURGE),
    "replicaset.apps.k8s.io": ("replicaset-evacuator", SURGE),
    "horizontalpodautoscaler.autoscaling.k8s.io": ("horizontalpodautoscaler-evacuator", FLOOR),
    "statefulset.apps.k8s.io": ("statefulset-evacuator", ()),
}


def check(gates: FeatureGates) -> None:
    """Whatever a user can create or opt in to has the controllers that it waits for."""
    running = {one.component for one in enabled(gates)}
    kinds = [kind for kind in served_kinds(gates) if kind.custom]
    assert {CONTROLLER_OF[kind.plural] for kind in kinds} <= running
    registered = {key for one in WORKLOADS for key in one.registration(gates, {})}
    for key in registered:
        name = key.partition("priority_")[2]
        evacuator, helpers = INTERCEPTORS[name]
        assert EVICTIONREQUESTS in kinds
        assert {name, *helpers, "workload-registration-controller"} <= running
        assert EVACUATIONS not in kinds or evacuator in running


def test_every_combination_is_refused_or_works() -> None:
    refused = 0
    for chosen in itertools.product((False, True), repeat=len(GATES)):
        states = dict(zip(GATES, chosen, strict=True))
        text = ",".join(f"{gate}={state}" for gate, state in states.items())
        closed = [gate for gate, needed in REQUIRED_GATES.items() if states[gate] and not states[needed]]
        if closed:
            refused += 1
            with pytest.raises(ConfigError) as error:
                parse_feature_gates(text)
            assert any(f"{gate}=true needs {REQUIRED_GATES[gate]}" in str(error.value) for gate in closed)
        else:
            check(parse_feature_gates(text))
    assert refused


@pytest.mark.parametrize("gate", GATES)
def test_closing_one_gate_closes_those_that_need_it(gate: str) -> None:
    gates = parse_feature_gates(f"{gate}=false")
    check(gates)
    for other, needed in REQUIRED_GATES.items():
        assert not (needed == gate and gates.enabled(other))
