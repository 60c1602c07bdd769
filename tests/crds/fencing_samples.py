"""FencingPolicy specs that are taken and refused, for the embedded and the real server alike."""

from __future__ import annotations

from typing import Any

COMMAND: dict[str, Any] = {"command": {"program": "fence_redfish", "options": {"ip": "10.0.0.7"}}}
HTTP: dict[str, Any] = {"http": {"url": "https://bmc.example/$(NODE)"}}
SECRET = {"namespace": "vacate-system", "name": "bmc-$(NODE)"}


_OPTIONS = {"spec.agent.command.options"}


def command(program: str = "fence_redfish", **options: str) -> dict[str, Any]:
    return {"agent": {"command": {"program": program, "options": options}}}


def _refused(*names: str) -> dict[str, tuple[dict[str, Any], set[str]]]:
    """Options that name programs, commands or files, or that make an agent print what it was given."""
    return {f"option {name}": (command(**{name: "x"}), _OPTIONS) for name in names}


VALID: dict[str, dict[str, Any]] = {
    "command": {"agent": COMMAND},
    "http": {"agent": HTTP, "approval": "Manual", "powerOn": "Automatic"},
    "address": {"agent": {"http": {"url": "http://[fe80::1]:8080?node=$(NODE)"}}},
    "hostname": {"agent": {"http": {"url": "https://$(NODE).bmc.example:443"}}},
    "secret": {"agent": {"command": {"program": "fence_ipmilan", "secretRef": SECRET}, "timeoutSeconds": 30}},
    "options": command(
        "fence_ipmilan", ip="[fd12::1]", ipport="623", username="root@pam", lanplus="1", **{"power-wait": "4"}
    ),
    "uri": command(systems_uri="/redfish/v1/Systems/$(NODE)-1", **{"ssl-insecure": "1"}),
    "cloud": command("fence_azure_arm", resourceGroup="rg", tenantId="t", plug="$(NODE)"),
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
    **_refused(
        "action",
        "option",
        "ssh_path",
        "ssh-path",
        "SSH_Path",
        "sudo_path",
        "telnet_path",
        "snmpget_path",
        "ssh_options",
        "ssh-options",
        "exec",
        "passwd_script",
        "password-script",
        "snmp_priv_passwd_script",
        "identity_file",
        "debug",
        "debug-file",
        "debug_file",
        "use_sudo",
        "sudo",
        "verbose",
        "ipmitool_path",
        "openrc",
        "kubeconfig",
        "status_file",
        "logfile",
        "port_as_ip",
        "missing_as_off",
        "session_url",
        "lanplus",
        "a.b",
        "",
        "ip ",
    ),
    **_refused(
        "passwd",
        "Password",
        "secret_key",
        "secret-key",
        "access_key",
        "token",
        "apikey",
        "community",
        "snmp_priv_passwd",
        "hexadecimal_kg",
    ),
    "two lines": (command(ip="a\naction=on"), _OPTIONS),
    "command in a value": (command(ip="10.0.0.7 -o ProxyCommand=x"), _OPTIONS),
    "shell in a value": (command("fence_amt", ip="10.0.0.7;id"), _OPTIONS),
    "option as a value": (command(username="-oProxyCommand=x"), _OPTIONS),
    "another address as a path": (command(systems_uri="@127.0.0.1:8443/latest"), _OPTIONS),
    "another address in a path": (command(**{"redfish-uri": "/x@127.0.0.1"}), _OPTIONS),
    "another address as a port": (command(ipport="443@127.0.0.1"), _OPTIONS),
    "other variable": (command(plug="$(HOME)"), _OPTIONS),
    "token over http": (
        {"agent": {"http": {"url": "http://bmc/$(NODE)", "secretRef": SECRET}}},
        {"spec.agent.http.url"},
    ),
    "URL with a password": ({"agent": {"http": {"url": "https://me:s3cret@bmc"}}}, {"spec.agent.http.url"}),
    "URL with half an address": ({"agent": {"http": {"url": "http://["}}}, {"spec.agent.http.url"}),
    "URL without a host": ({"agent": {"http": {"url": "https:///$(NODE)"}}}, {"spec.agent.http.url"}),
    "URL with a word as port": ({"agent": {"http": {"url": "https://bmc:x/"}}}, {"spec.agent.http.url"}),
    "all nodes by mistake": ({"agent": HTTP, "nodeSelector": {}}, {"spec.nodeSelector"}),
    "share": ({"agent": HTTP, "minHealthy": "0%"}, {"spec.minHealthy"}),
    "none": ({"agent": HTTP, "maxFenced": 0}, {"spec.maxFenced"}),
    "haste": ({"agent": HTTP, "unreachableSeconds": 1}, {"spec.unreachableSeconds"}),
}
