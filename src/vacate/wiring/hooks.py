"""The hooks interceptor as a process of its own: what `vacate hooks` runs, under an account of its own.

It calls services and runs Jobs that others name. None of the manager's rights may be reachable from there,
so it shares neither process nor account with it.
"""

from __future__ import annotations

from collections.abc import Callable

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, JOBS
from vacate.api.policyrules import CORE, READ, Rule, rule
from vacate.features import FeatureGates
from vacate.interceptors.hooks.caller import Caller, HttpCaller
from vacate.interceptors.hooks.interceptor import HookOptions, build, build_evacuator
from vacate.interceptors.hooks.jobcleanup import NAME as JOB_CLEANUP
from vacate.interceptors.hooks.jobcleanup import build as job_cleanup
from vacate.interceptors.hooks.limits import CallLimits
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR
from vacate.interceptors.hooks.reconsidering import build as declined_hooks
from vacate.interceptors.hooks.targets import AllowList
from vacate.wiring.components import ControllerDescriptor
from vacate.wiring.controllers import EVENTS

COMPONENT = "vacate-hooks"
_EVACUATOR, _DECLINED = "hooks-evacuator", "declined-hooks-controller"
HOOK_COMPONENTS = (HOOKS_INTERCEPTOR, _EVACUATOR, _DECLINED, JOB_CLEANUP)
"""The sources of its Events."""

_RULES = {
    kind: (
        rule(READ, kind.group, kind.plural),
        rule("patch", kind.group, f"{kind.plural}/status"),
        rule("get", CORE, "pods"),
    )
    for kind in (EVICTIONREQUESTS, EVACUATIONS)
}

_ALL_RULES = tuple(dict.fromkeys(one for rules in _RULES.values() for one in rules))
_JOBS_WATCHED = rule("list watch", JOBS.group, JOBS.plural)
HOOK_RULES: tuple[Rule, ...] = (*_ALL_RULES, _JOBS_WATCHED, EVENTS)
"""What the process may do in all namespaces."""

# Who may create Jobs in a namespace can act as every service account there: bound by the administrator, where
# it is wanted, and nowhere else.
JOB_RULES: tuple[Rule, ...] = (
    rule("get create delete", JOBS.group, JOBS.plural),
    rule("get", JOBS.group, "cronjobs"),
)


def hook_controllers(
    allowed: Callable[[], AllowList], gates: FeatureGates, caller: Caller | None = None
) -> tuple[ControllerDescriptor, ...]:
    """The interceptor for the requests of each API that is on, and the end of Jobs where there are any."""
    jobs = allowed().jobs is not None
    options = HookOptions(allowed, caller or HttpCaller(), CallLimits(), jobs)
    rows = [
        ControllerDescriptor(
            HOOKS_INTERCEPTOR,
            lambda deps: build(deps, options),
            kinds=(EVICTIONREQUESTS,),
            rules=_RULES[EVICTIONREQUESTS],
        ),
        ControllerDescriptor(
            _EVACUATOR,
            lambda deps: build_evacuator(deps, options),
            kinds=(EVACUATIONS,),
            rules=_RULES[EVACUATIONS],
        ),
        ControllerDescriptor(
            _DECLINED,
            declined_hooks,
            kinds=(EVICTIONREQUESTS,),
            rules=_ALL_RULES,
        ),
    ]
    if jobs:
        rows.append(ControllerDescriptor(JOB_CLEANUP, job_cleanup, kinds=(JOBS,), rules=(_JOBS_WATCHED,)))
    return tuple(one for one in rows if one.is_enabled(gates))
