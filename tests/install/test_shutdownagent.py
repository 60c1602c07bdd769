"""What the shutdown agent may do and see: exactly the paths and rights that it needs."""

from __future__ import annotations

import pytest

from vacate.api.objects import Obj
from vacate.install import Settings, objects
from vacate.install.settings import ShutdownAgent, ShutdownAgentMode

pytestmark = pytest.mark.unit


def rendered(mode: ShutdownAgentMode = ShutdownAgentMode.ALONE) -> dict[str, Obj]:
    plain = {(one["kind"], one["metadata"]["name"]) for one in objects(Settings())}
    added = objects(Settings(shutdown_agent=ShutdownAgent(mode)))
    return {one["kind"]: one for one in added if (one["kind"], one["metadata"]["name"]) not in plain}


def pod_spec(mode: ShutdownAgentMode = ShutdownAgentMode.ALONE) -> Obj:
    found: Obj = rendered(mode)["DaemonSet"]["spec"]["template"]["spec"]
    return found


def test_its_pods_see_three_paths_of_the_host_and_have_no_privilege() -> None:
    spec = pod_spec()
    paths = {one["hostPath"]["path"] for one in spec["volumes"] if "hostPath" in one}
    assert paths == {"/run/dbus", "/etc/systemd/logind.conf.d", "/var/lib/vacate-shutdown-agent"}
    assert not {"hostPID", "hostNetwork", "hostIPC"} & set(spec)
    (container,) = spec["containers"]
    secure = container["securityContext"]
    assert (secure["capabilities"], secure["allowPrivilegeEscalation"]) == ({"drop": ["ALL"]}, False)
    assert secure["readOnlyRootFilesystem"]
    assert "privileged" not in secure
    (bus,) = [one for one in container["volumeMounts"] if one["name"] == "bus"]
    assert bus["readOnly"]


def test_only_its_own_namespace_lets_pods_mount_paths_of_the_host() -> None:
    made = objects(Settings(shutdown_agent=ShutdownAgent()))
    levels = {
        one["metadata"]["name"]: one["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for one in made
        if one["kind"] == "Namespace"
    }
    assert levels == {"vacate-system": "restricted", "vacate-shutdown-agent": "privileged"}
    assert {one["metadata"]["namespace"] for one in made if one["kind"] == "DaemonSet"} == {
        "vacate-shutdown-agent"
    }


def test_it_may_read_neither_secrets_nor_the_kubelet_s_other_endpoints() -> None:
    named = {
        resource: rule["verbs"]
        for rule in rendered()["ClusterRole"]["rules"]
        for resource in rule["resources"]
    }
    assert "nodes/proxy" not in named  # would let it run commands in any container
    assert named["nodes/configz"] == ["get"]
    assert named["nodes"] == ["get", "patch"]
    assert not {"secrets", "configmaps", "*"} & set(named)


def test_beside_a_kubelet_it_is_in_the_lowest_bucket_and_may_take_its_time() -> None:
    alone, beside = pod_spec(), pod_spec(ShutdownAgentMode.BESIDE_KUBELET)
    assert alone["priorityClassName"] == "system-node-critical"
    assert beside["priorityClassName"] == rendered()["PriorityClass"]["metadata"]["name"]
    assert rendered()["PriorityClass"]["value"] < 0
    assert beside["terminationGracePeriodSeconds"] >= 3600


def test_it_stays_on_a_node_that_goes_down_and_away_from_nodes_of_processes() -> None:
    spec = pod_spec()
    assert spec["tolerations"] == [{"operator": "Exists"}]
    affinity = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = affinity["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "vacate.dev/runtime", "operator": "NotIn", "values": ["process"]}
    ]


def test_it_requests_by_the_api_that_is_chosen() -> None:
    made = objects(Settings(shutdown_agent=ShutdownAgent(api="evacuation")))
    (daemon_set,) = [one for one in made if one["kind"] == "DaemonSet"]
    assert "--api=evacuation" in daemon_set["spec"]["template"]["spec"]["containers"][0]["args"]
    assert not any(one.startswith("--api") for one in pod_spec()["containers"][0]["args"])


def test_the_webhook_learns_whose_accounts_the_agents_have() -> None:
    made = objects(Settings(shutdown_agent=ShutdownAgent(namespace="agents")))
    args = [
        word
        for one in made
        if (one["kind"], one["metadata"]["name"]) == ("Deployment", "vacate-webhook")
        for word in one["spec"]["template"]["spec"]["containers"][0]["args"]
    ]
    assert "--shutdown-agent-user=system:serviceaccount:agents:vacate-shutdown-agent" in args
