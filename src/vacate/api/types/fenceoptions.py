"""Which options a fence agent of the ClusterLabs protocol is given, by names and values.

The author of a FencingPolicy chooses a machine and how it is reached, and nothing else. Agents have options
that name programs (ssh_path), commands (ssh_options, exec) and files (debug, identity_file, openrc), so the
names are a list of what is allowed: what addresses, authenticates and selects a machine. And agents put
values, such as an address, into command lines without quoting them, so the values have no character that
means something there. An agent that needs more runs as a Job, from a template of the administrator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_EVERY_AGENT = (
    "ip ipaddr ipport port plug login username switch method ssh secure ssl ssl_secure ssl_insecure "
    "inet4_only inet6_only snmp_version snmp_auth_prot snmp_sec_level snmp_priv_prot "
    "login_timeout shell_timeout power_timeout power_wait disable_timeout stonith_status_sleep retry_on delay"
)
_OF_AGENTS = {
    "redfish": "redfish_uri systems_uri",
    "ipmilan ipmilanplus idrac ilo3 ilo4 ilo5 imm": ("lanplus auth cipher privlvl ipmitool_timeout target"),
    "ilo ilo2": "ribcl",
    "amt": "boot_option",
    "drac5": "drac_version",
    "lpar": "managed hmc_version",
    "cisco_ucs": "suborg",
    "pve": "pve_node pve_node_auto node_name vmtype",
    "rhevm": "api_version api_path disable_http_filter use_cookies",
    "vmware": "vmware_type vmware_datacenter",
    "vmware_rest": "api_path filter",
    "vmware_vcloud": "api_path",
    "aws": "region filter",
    "aliyun": "region ram_role",
    "azure_arm": "resourcegroup tenantid subscriptionid network_fencing msi cloud",
    "gce": "zone project baremetalsolution apitimeout retries retrysleep plugzonemap",
    "ibm_vpc": "region limit",
    "ibm_powervs": "region crn instance",
    "kubevirt": "namespace apiversion",
    "openstack": "project_name user_domain_name project_domain_name cloud uuid apitimeout",
    "scsi mpath": "devices key key_value nodename",
    "sbd": "devices",
}
_FREE_TEXT = "passwd password snmp_priv_passwd community access_key secret_key apikey token"
_CREDENTIALS = f"{_FREE_TEXT} hexadecimal_kg"
_SHOWN = 5


def _names(text: str) -> str:
    """An alternative for each, as agents take them: with dashes or underscores."""
    return "|".join(name.replace("_", "[-_]") for name in text.split())


def _agents(text: str) -> str:
    return "|".join(text.split())


CREDENTIAL = f"^(?i:{_names(_CREDENTIALS)})$"
"""Names of options that only a Secret may hold."""

ALLOWED = (
    f"^(?i:fence_[a-z0-9_]+ ({_names(_EVERY_AGENT)})|"
    + "|".join(f"fence_({_agents(agents)}) ({_names(names)})" for agents, names in _OF_AGENTS.items())
    + ")$"
)
"""A program and the name of an option, with a space between them: what the program may be given."""

_CHARACTER = r"[A-Za-z0-9_./:@,+=%\[\]]|\$\(NODE\)"
VALUE = rf"^(({_CHARACTER})({_CHARACTER}|-)*)?$"
"""A value that is one word wherever an agent puts it, and none that begins as an option of a command does."""

# Agents append them to https://ADDRESS: what is no path, or no number, would be another address.
PATH_NAME = f"^(?i:{_names('redfish_uri systems_uri api_path')})$"
PATH_VALUE = "^(/[^@]*)?$"
PORT_NAME = "^(?i:ipport)$"
PORT_VALUE = "^[0-9]{0,5}$"

_ALLOWED, _CREDENTIAL, _VALUE = map(re.compile, (ALLOWED, CREDENTIAL, VALUE))
_OF_ADDRESSES = [
    (re.compile(PATH_NAME), re.compile(PATH_VALUE)),
    (re.compile(PORT_NAME), re.compile(PORT_VALUE)),
]
_QUOTED = re.compile(f"(?i:{_names(_FREE_TEXT)})")


def is_credential(name: str) -> bool:
    """Whether it is the name of a password, key or token."""
    return _CREDENTIAL.fullmatch(name) is not None


def refused_names(program: str, names: Iterable[str], *, of_secret: bool = False) -> list[str]:
    """The options that the program may not be given; credentials are allowed in a Secret only."""
    return sorted(
        name
        for name in names
        if not (of_secret and is_credential(name)) and _ALLOWED.fullmatch(f"{program} {name}") is None
    )


def refused_values(options: Mapping[str, str]) -> list[str]:
    """The options whose values could be read as more than one word; agents quote passwords and tokens."""
    return sorted(
        name
        for name, value in options.items()
        if _QUOTED.fullmatch(name) is None and _VALUE.fullmatch(value) is None
    )


def refused_addresses(options: Mapping[str, str]) -> list[str]:
    """The ports and paths that would lead to another address than that of the machine."""
    return sorted(
        name
        for name, value in options.items()
        for names, values in _OF_ADDRESSES
        if names.fullmatch(name) is not None and values.fullmatch(value) is None
    )


def listed(names: Sequence[str]) -> str:
    """Some names for a message."""
    shown = ", ".join(name[:64] for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
