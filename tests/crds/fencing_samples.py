"""FencingPolicy specs that are taken and refused, for the embedded and the real server alike."""

from __future__ import annotations

from typing import Any

COMMAND: dict[str, Any] = {"command": {"program": "fence_redfish", "options": {"ip": "10.0.0.7"}}}
HTTP: dict[str, Any] = {"http": {"url": "https://bmc.example/$(NODE)"}}
SECRET = {"namespace": "vacate-system", "name": "bmc-$(NODE)"}


def command(**options: str) -> dict[str, Any]:
    return {"agent": {"command": {"program": "fence_redfish", "options": options}}}


VALID: dict[str, dict[str, Any]] = {
    "command": {"agent": COMMAND},
    "http": {"agent": HTTP, "approval": "Manual", "powerOn": "Automatic"},
    "address": {"agent": {"http": {"url": "http://[fe80::1]:8080?node=$(NODE)"}}},
    "hostname": {"agent": {"http": {"url": "https://$(NODE).bmc.example:443"}}},
    "secret": {"agent": {"command": {"program": "fence_ipmilan", "secretRef": SECRET}, "timeoutSeconds": 30}},
    "limits": {"agent": COMMAND, "minHealthy": 3, "maxFenced": 2, "minPodPriority": -5, "when": "Always"},
    "storage": {"agent": {**HTTP, "mechanism": "Storage"}},
    "selected": {"agent": HTTP, "nodeSelector": {"matchLabels": {"rack": "1"}}, "budgetSpentSeconds": 20},
}
REFUSED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "no agent": ({}, {"spec.agent"}),
    "neither": ({"agent": {}}, {"spec.agent.command"}),
    "both": ({"agent": {**COMMAND, **HTTP}}, {"spec.agent.command"}),
    "path": ({"agent": {"command": {"program": "/bin/sh"}}}, {"spec.agent.command.program"}),
    "not http": ({"agent": {"http": {"url": "file:///etc/passwd"}}}, {"spec.agent.http.url"}),
    "mechanism": ({"agent": {**HTTP, "mechanism": "Network"}}, {"spec.agent.mechanism"}),
    "action": (command(action="on"), {"spec.agent.command.options"}),
    "two lines": (command(ip="a\naction=on"), {"spec.agent.command.options"}),
    "password": (command(passwd="s3cret"), {"spec.agent.command.options"}),
    "Password": (command(Password="s3cret"), {"spec.agent.command.options"}),
    "URL with a password": ({"agent": {"http": {"url": "https://me:s3cret@bmc"}}}, {"spec.agent.http.url"}),
    "URL with half an address": ({"agent": {"http": {"url": "http://["}}}, {"spec.agent.http.url"}),
    "URL without a host": ({"agent": {"http": {"url": "https:///$(NODE)"}}}, {"spec.agent.http.url"}),
    "URL with a word as port": ({"agent": {"http": {"url": "https://bmc:x/"}}}, {"spec.agent.http.url"}),
    "all nodes by mistake": ({"agent": HTTP, "nodeSelector": {}}, {"spec.nodeSelector"}),
    "share": ({"agent": HTTP, "minHealthy": "0%"}, {"spec.minHealthy"}),
    "none": ({"agent": HTTP, "maxFenced": 0}, {"spec.maxFenced"}),
    "haste": ({"agent": HTTP, "unreachableSeconds": 1}, {"spec.unreachableSeconds"}),
}
