"""The admission policies about Events: each account of Vacate reports in the names of its own components.

A role cannot narrow the right to write Events: who may count the repeats of one may rewrite all others.
People go by the component of an Event, so none may be written in the name of another.
"""

from __future__ import annotations

from collections.abc import Mapping

from vacate.admission.pods.forcedeletionevents import COMPONENT as FORCE_DELETIONS
from vacate.api.installednames import HOOKS, MANAGER, OWN_EVENTS, SHUTDOWN_AGENT, WEBHOOK
from vacate.api.kinds import EVENTS, NODES
from vacate.api.objects import Obj
from vacate.crds.cel import listed, text
from vacate.install.manifests.policyobjects import (
    NODE_OF_TOKEN,
    WITH_PREFIX,
    bound,
    by_user,
    forbidding,
    matched,
    of_new,
    policy_of,
    rule_about,
    variables,
)
from vacate.webhook.bridgeanswers import COMPONENT as BYPASSES
from vacate.wiring.controllers import CONTROLLERS
from vacate.wiring.hooks import HOOK_COMPONENTS

COMPONENTS: Mapping[str, tuple[str, ...]] = {
    MANAGER: (MANAGER, *sorted(one.component for one in CONTROLLERS)),
    WEBHOOK: (FORCE_DELETIONS, BYPASSES),
    SHUTDOWN_AGENT: (SHUTDOWN_AGENT,),
    HOOKS: HOOK_COMPONENTS,
}
"""The sources of the Events that each account writes."""


def own_events(account: str, user: str) -> list[Obj]:
    """The policy with its binding. Events of events.k8s.io are converted before it is asked."""
    source, meta = "e.?source.?component.orValue('')", "object.metadata"
    reporter = "e.?reportingComponent.orValue('')"
    marks = (f"{meta}.?{part}.orValue({{}}).all(k, {WITH_PREFIX})" for part in ("annotations", "labels"))
    held = (f"{meta}.?{part}.orValue([]) == []" for part in ("finalizers", "ownerReferences"))
    validations = {
        f"{account} writes Events of its own components only": (
            f"variables.events.all(e, {source} in {listed(COMPONENTS[account])}"
            f" && ({reporter} == '' || {reporter} == {source}))"
        ),
        **of_new({f"{account} puts nothing into the metadata of an Event": " && ".join((*held, *marks))}),
    }
    if account == SHUTDOWN_AGENT:
        about = f"e.involvedObject.?kind.orValue('') == {text(NODES.kind)}"
        own = "variables.node != '' && e.involvedObject.?name.orValue('') == variables.node"
        validations[f"{account} writes Events about its own node only"] = (
            f"variables.events.all(e, {about} && {own})"
        )
    spec = {
        "matchConstraints": matched(rule_about(EVENTS, ["CREATE", "UPDATE"])),
        "matchConditions": [by_user(user)],
        "variables": variables(
            {
                "node": NODE_OF_TOKEN,
                "events": "[dyn(object)] + (oldObject == null ? [] : [dyn(oldObject)])",
            }
        ),
        "validations": forbidding(validations),
    }
    return bound(policy_of(OWN_EVENTS[account], spec))
