"""An author of FencingPolicies: may write them, and is not the manager that carries them out."""

from __future__ import annotations

from typing import Any

import pytest

from support.realcluster.adversary import (
    APPLY,
    MERGE,
    OWN_NODE,
    ROLES,
    ROWS,
    Site,
    held_by,
    held_in_code,
    permitted,
    refused,
)
from support.waiting import until
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.installednames import FENCE_MARKS, NODE_DELETION, NODE_MARKS
from vacate.api.kinds import FENCINGPOLICIES, NODES
from vacate.fencing.annotations import APPROVED, REQUESTED
from vacate.kube.nodes import SAFE_TO_DELETE

pytestmark = ROWS
PROGRAMS = (
    "ssh_path", "SSH-PATH", "telnet_path", "sudo_path", "gnutlscli_path", "snmpget_path", "passwd_script",
    "exec", "ssh_options", "identity_file", "debug_file", "debug", "sudo", "use_sudo",
)  # fmt: skip
SECRET = {"namespace": "vacate-system", "name": "bmc"}
CREDENTIALS = ("passwd", "password", "token", "secret_key", "snmp_priv_passwd", "snmp_priv_passwd_script")


def _policy(agent: Any) -> dict[str, Any]:
    return {"metadata": {"name": "mine"}, "spec": {"agent": agent}}


class TestFencingPolicyAuthor:
    @held_in_code("fence-options-are-a-list-of-what-is-allowed")
    @pytest.mark.parametrize("option", [*PROGRAMS, *CREDENTIALS])
    def test_has_no_program_run_and_keeps_no_credential_in_a_policy(self, site: Site, option: str) -> None:
        agent = {"command": {"program": "fence_redfish", "options": {"ip": "10.0.0.7", option: "/bin/sh"}}}
        refused(site.fencer.create(FENCINGPOLICIES, _policy(agent)), "spec.agent.command.options")

    @held_in_code("row-tokens-in-clear")
    @pytest.mark.parametrize(
        "agent",
        [
            {"url": "http://bmc.example/", "secretRef": SECRET},
            {"url": "https://me:s3cret@bmc.example/"},
            {"url": "file:///etc/passwd"},
        ],
        ids=["a token without TLS", "a password in the address", "a file"],
    )
    def test_has_no_credential_sent_in_the_clear(self, site: Site, agent: Any) -> None:
        refused(site.fencer.create(FENCINGPOLICIES, _policy({"http": agent})), "spec.agent.http")

    @held_in_code("row-agents-by-name-in-policies")
    def test_has_no_other_program_run_as_an_agent(self, site: Site) -> None:
        for program in ("/bin/sh", "sh", "fence_../../bin/sh", "fence_x;id"):
            refused(site.fencer.create(FENCINGPOLICIES, _policy({"command": {"program": program}})))

    @held_by(ROLES)
    def test_decides_nothing_in_the_name_of_the_manager(self, site: Site) -> None:
        agent = {"command": {"program": "fence_redfish", "options": {"ip": "10.0.0.7"}}}
        name = site.given(FENCINGPOLICIES, {**_policy(agent), "metadata": {"name": "shared"}}, "")
        refused(site.fencer.change(FENCINGPOLICIES, name, {"status": {"nodes": []}}, sub="status"))


class TestNodeEditor:
    """Who may patch nodes, as kubelets and many controllers may, and has no right to fence."""

    @held_by(FENCE_MARKS)
    @pytest.mark.parametrize("mark", [APPROVED, REQUESTED])
    def test_approves_no_fence_and_requests_none(self, site: Site, mark: str) -> None:
        change = {"metadata": {"annotations": {mark: "now"}}}
        refused(site.node_editor.change(NODES, OWN_NODE, change))

    @held_by(NODE_DELETION)
    def test_removes_no_lost_node_whose_pods_must_run_once_without_a_word(self, site: Site) -> None:
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}
        lost = site.lost_node("lost", ownerReferences=[owner])
        refused(site.node_editor.delete(NODES, lost), "vacate delete node lost --confirm", CONFIRMATION)

    @held_by(NODE_MARKS)
    @pytest.mark.parametrize("how", [MERGE, APPLY])
    def test_declares_no_node_safe_to_delete(self, site: Site, how: str) -> None:
        change = {"metadata": {"annotations": {SAFE_TO_DELETE: "2026-01-01T00:00:00Z"}}}
        refused(site.node_editor.change(NODES, OWN_NODE, change, how=how), "only Vacate's manager")

    @permitted
    def test_removes_a_lost_node_on_which_nothing_must_run_once(self, site: Site) -> None:
        """As autoscalers do: nobody is asked."""
        empty = site.lost_node("empty")
        until(lambda: site.node_editor.delete(NODES, empty).code == 200)
