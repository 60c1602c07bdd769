"""Who speaks for whom in the status of an Eviction of lifecycle.k8s.io, as an admission policy.

The API server lets anyone who may write the status of Evictions report for every responder. Where responders
are bound to accounts, those alone report for them, and no controller does, Vacate's own included: it begins
turns. And only controllers write whose turn it is, or a bound responder could be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vacate.api.identity import SERVICE_ACCOUNT_PREFIX
from vacate.api.objects import Obj
from vacate.api.types.lifecycle import FINAL_CONDITIONS
from vacate.crds.cel import listed, text
from vacate.eviction.dialects.turn_conditions import declined_type, failed_type
from vacate.install.manifests.policyobjects import validation, variables

_KUBERNETES_CONTROLLERS = "system:kube-controller-manager"
_USER = "request.userInfo.username"
# The same responder is example.com/backup here, and backup.example.com in Vacate's own APIs and in bindings.
_NAME = "({0}.split('/').size() == 2 ? {0}.split('/')[1] + '.' + {0}.split('/')[0] : {0})"
_REPORTS = "dyn({}).?status.?responders.orValue([])"
_CONDITIONS = "dyn({}).?status.?conditions.orValue([])"
_RESULTS = [kind("").removeprefix("/") for kind in (declined_type, failed_type)]


def responder_variables(accounts: Mapping[str, Sequence[str]]) -> list[Obj]:
    """Which of the bound responders the user does not speak for, and what the status says in their name."""
    bound = f"{{{', '.join(f'{text(name)}: {listed(users)}' for name, users in accounts.items())}}}"
    name = _NAME.format("c.type.substring(0, c.type.lastIndexOf('.'))")
    theirs = f"{listed(_RESULTS)}.exists(s, c.type.endsWith('.' + s)) && {name} in variables.others"
    before, after = (f"{_CONDITIONS.format(one)}.filter(c, {theirs})" for one in ("oldObject", "object"))
    others = f"variables.bound.filter(n, !({_USER} in variables.bound[n]))"
    return variables({"bound": bound, "others": others, "before": before, "after": after})


def responder_validations(controllers: Sequence[str]) -> list[Obj]:
    """What each write of the status must leave as it is, by who writes."""
    return [_reports(), _results(controllers), _turns(controllers)]


def _reports() -> Obj:
    """A turn begins with the name of the responder and a time; all else is its report."""
    before, after = (_REPORTS.format(one) for one in ("oldObject", "object"))
    begins = (
        f"(!{before}.exists(b, b.name == r.name && has(b.startTime)) && r.all(k, k in ['name', 'startTime']))"
    )
    holds = f"!({_NAME.format('r.name')} in variables.others) || r in {before} || {begins}"
    return validation(
        f"{after}.all(r, {holds})",
        "status.responders: a responder that is bound to accounts is reported for by these alone. An "
        "administrator may, as that account: kubectl --as=system:serviceaccount:NAMESPACE:NAME",
    )


def _results(controllers: Sequence[str]) -> Obj:
    """The conditions that say what came of a responder's turn. Vacate's manager says that one was skipped."""
    same = "variables.after.all(c, c in variables.before) && variables.before.all(c, c in variables.after)"
    types = " and ".join(f"NAME.{one}" for one in _RESULTS)
    return validation(
        f"{_USER} in {listed(controllers)} || ({same})",
        f"status.conditions: {types} of a responder that is bound to accounts are written by these alone",
    )


def _turns(controllers: Sequence[str]) -> Obj:
    own = f"{_USER} in {listed([*controllers, _KUBERNETES_CONTROLLERS])}"
    of_kubernetes = f"{_USER}.startsWith({text(f'{SERVICE_ACCOUNT_PREFIX}kube-system:')})"
    final = f"{_CONDITIONS}.filter(c, c.type in {listed(FINAL_CONDITIONS)})"
    fields = (f"dyn({{}}).?status.?{one}.orValue([])" for one in ("targetResponders", "requesters"))
    same = " && ".join(f"{part.format('object')} == {part.format('oldObject')}" for part in (*fields, final))
    return validation(
        f"{own} || {of_kubernetes} || ({same})",
        "status: while responders are bound to accounts, only controllers write targetResponders, requesters "
        f"and the conditions {' and '.join(FINAL_CONDITIONS)}",
    )
