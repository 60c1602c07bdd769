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
from vacate.install.manifests.policyobjects import validation

_KUBERNETES_CONTROLLERS = "system:kube-controller-manager"
_USER = "request.userInfo.username"
# The same responder is example.com/backup here, and backup.example.com in Vacate's own APIs and in bindings.
_NAME = "(r.name.split('/').size() == 2 ? r.name.split('/')[1] + '.' + r.name.split('/')[0] : r.name)"
_REPORTS = "dyn({}).?status.?responders.orValue([])"


def responder_validations(accounts: Mapping[str, Sequence[str]], controllers: Sequence[str]) -> list[Obj]:
    """What each write of the status must leave as it is, by who writes."""
    return [_reports(accounts), _turns(controllers)]


def _reports(accounts: Mapping[str, Sequence[str]]) -> Obj:
    """A turn begins with the name of the responder and a time; all else is its report."""
    bound = f"{{{', '.join(f'{text(name)}: {listed(users)}' for name, users in accounts.items())}}}"
    before, after = (_REPORTS.format(one) for one in ("oldObject", "object"))
    begins = (
        f"(!{before}.exists(b, b.name == r.name && has(b.startTime)) && r.all(k, k in ['name', 'startTime']))"
    )
    holds = f"!({_NAME} in {bound}) || {_USER} in {bound}[{_NAME}] || r in {before} || {begins}"
    return validation(
        f"{after}.all(r, {holds})",
        "status.responders: a responder that is bound to accounts is reported for by these alone. An "
        "administrator may, as that account: kubectl --as=system:serviceaccount:NAMESPACE:NAME",
    )


def _turns(controllers: Sequence[str]) -> Obj:
    own = f"{_USER} in {listed([*controllers, _KUBERNETES_CONTROLLERS])}"
    of_kubernetes = f"{_USER}.startsWith({text(f'{SERVICE_ACCOUNT_PREFIX}kube-system:')})"
    final = f".?status.?conditions.orValue([]).filter(c, c.type in {listed(FINAL_CONDITIONS)})"
    parts = (".?status.?targetResponders.orValue([])", ".?status.?requesters.orValue([])", final)
    same = " && ".join(f"dyn(object){part} == dyn(oldObject){part}" for part in parts)
    return validation(
        f"{own} || {of_kubernetes} || ({same})",
        "status: while responders are bound to accounts, only controllers write targetResponders, requesters "
        f"and the conditions {' and '.join(FINAL_CONDITIONS)}",
    )
