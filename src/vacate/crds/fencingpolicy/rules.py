"""What the schema of FencingPolicy cannot say."""

from __future__ import annotations

from vacate.api.types.fenceoptions import (
    ALLOWED,
    CREDENTIAL,
    PATH_NAME,
    PATH_VALUE,
    PORT_NAME,
    PORT_VALUE,
    VALUE,
)
from vacate.crds.customresource import CelRule
from vacate.crds.labelselectors import keys_rule, not_empty_rule, values_rule

_CREDENTIALS = "^https?://[^/?#]*@"
_SCHEME = "^https?://."
_HOST_AND_PORT = r"^https?://([^/?#]*@)?([^/?#@:\[\]]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?#]|$)"


RULES = (
    CelRule(
        "spec.agent",
        "(has(self.command) ? 1 : 0) + (has(self.http) ? 1 : 0) + (has(self.job) ? 1 : 0) == 1",
        "name one agent: command, http or job",
        field="command",
    ),
    CelRule(
        "spec.agent.command",
        f"!has(self.options) || self.options.all(key, (self.program + ' ' + key).matches('{ALLOWED}') || "
        f"key.matches('{CREDENTIAL}'))",
        "options address and select a machine, such as ip, plug, username and ssl_insecure; this agent is "
        "given no others, least of all those that name programs or files. Run one that needs more as a Job",
        field="options",
    ),
    CelRule(
        "spec.agent.command.options",
        f"self.all(key, !key.matches('{CREDENTIAL}'))",
        "a policy can be read by many: put passwords, keys and tokens into the Secret that secretRef names",
    ),
    CelRule(
        "spec.agent.command.options",
        f"self.all(key, self[key].matches(r'{VALUE}'))",
        "a value is one word of letters, digits and _./:@,+=%[]- that does not begin with -; $(NODE) stands "
        "for the node",
    ),
    CelRule(
        "spec.agent.command.options",
        f"self.all(key, (!key.matches('{PATH_NAME}') || self[key].matches('{PATH_VALUE}')) && "
        f"(!key.matches('{PORT_NAME}') || self[key].matches('{PORT_VALUE}')))",
        "redfish_uri, systems_uri and api_path begin with / and have no @, and ipport is a number: agents "
        "append them to the address",
    ),
    CelRule(
        "spec.agent.http",
        "!has(self.secretRef) || self.url.startsWith('https://')",
        "a token is sent over https only",
        field="url",
    ),
    CelRule(
        "spec.agent.http.url",
        f"!self.matches('{_CREDENTIALS}')",
        "a policy can be read by many: put a token into the Secret that secretRef names, and no credentials "
        "into the URL",
    ),
    CelRule(
        "spec.agent.http.url",
        f"!self.matches('{_SCHEME}') || self.matches(r'{_HOST_AND_PORT}')",
        "write http://HOST or https://HOST, with :PORT and a path where needed; an IPv6 address needs both "
        "brackets",
    ),
    not_empty_rule("spec.nodeSelector", "an empty selector is ambiguous: leave it out to mean all nodes"),
    keys_rule("spec.nodeSelector"),
    values_rule("spec.nodeSelector"),
)
