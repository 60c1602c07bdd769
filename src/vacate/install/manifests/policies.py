"""Admission policies: what the API server itself holds about requests beyond their schema, webhook or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vacate.api.installednames import (
    EVACUATION_RIGHT_TO_DELETE,
    EVACUATION_STATUS_AUTHORITY,
    EVACUATION_STEPS,
    EVICTION_SIZE,
    EXCLUSIVE_GATE,
    FINALIZERS,
    RESPONDER_AUTHORITY,
    RIGHT_TO_DELETE,
    STATUS_AUTHORITY,
    STEPS,
)
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_EVICTIONS, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.types.evacuation import INSTIGATOR
from vacate.api.types.evictionrequest import ADMITTED_STAMP, ALLOW, FORBID
from vacate.crds.cel import listed
from vacate.crds.celfields import EVACUATION_FIELDS, EVICTION_REQUEST_FIELDS, CelFields
from vacate.install import policy_authority
from vacate.install.manifests import forcedeletion
from vacate.install.manifests.policyobjects import (
    API,
    WAS_COMPLETE,
    bound,
    matched,
    policy_of,
    rule_about,
    validation,
    variables,
)
from vacate.install.responder_authority import responder_validations, responder_variables
from vacate.install.settings import Settings
from vacate.kube.exclusivevolumes import GATE, OPT_IN, OPTED_IN

_INSTIGATORS = f"metadata.?finalizers.orValue([]).filter(f, f.startsWith('{INSTIGATOR}'))"

_EVICTION_ENTRIES, _EVICTION_TEXT = 64, 1024


@dataclass(frozen=True, slots=True)
class _Api:
    """One API for evictions, and what its policies are called."""

    kind: Kind
    fields: CelFields
    pod: str  # where its objects name the pod
    asks: str  # who asks for the eviction, and what for
    right_to_delete: str
    steps: str
    authority: str


_APIS = (
    _Api(
        EVICTIONREQUESTS,
        EVICTION_REQUEST_FIELDS,
        "spec.target.podRef.name",
        "a requester of a pod's eviction",
        RIGHT_TO_DELETE,
        STEPS,
        STATUS_AUTHORITY,
    ),
    _Api(
        EVACUATIONS,
        EVACUATION_FIELDS,
        "spec.podRef.name",
        "an instigator of a pod's evacuation",
        EVACUATION_RIGHT_TO_DELETE,
        EVACUATION_STEPS,
        EVACUATION_STATUS_AUTHORITY,
    ),
)


def policies(settings: Settings | None = None) -> list[Obj]:
    """Each policy with its binding."""
    chosen = settings or Settings()
    guards = forcedeletion.guard(unlabelled=chosen.guard_unlabelled, managers=chosen.controllers)
    guards = [*guards, _exclusive_gate(chosen)]
    of_apis = [one for api in _APIS for one in (_right_to_delete(api), _steps(api), _authority(api, chosen))]
    if chosen.interceptor_accounts:
        guards.append(_responders(chosen.interceptor_accounts, chosen.controllers))
    return [obj for policy in [*of_apis, _finalizers(), _eviction_size(), *guards] for obj in bound(policy)]


def responder_policy(accounts: Mapping[str, Sequence[str]], controllers: Sequence[str]) -> list[Obj]:
    """Who reports for responders that are bound to accounts: the policy with its binding."""
    return bound(_responders(accounts, controllers))


def former_policies() -> list[Obj]:
    """What earlier versions had: the webhook's annotations of pods were a policy of their own."""
    return [
        {"apiVersion": API, "kind": kind, "metadata": {"name": "vacate-webhook-annotations"}}
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    ]


def _right_to_delete(api: _Api) -> Obj:
    """The user of every write of a request must be allowed to delete its pod."""
    may = (
        "authorizer.group('').resource('pods').namespace(request.namespace)"
        ".name(variables.pod).check('delete').allowed()"
    )
    message_expression = (
        '\'User "\' + request.userInfo.username + \'" cannot delete resource "pods" in API group ""'
        " in the namespace \"' + request.namespace + '\"'"
    )
    return policy_of(
        api.right_to_delete,
        {
            "matchConstraints": matched(rule_about(api.kind, ["CREATE", "UPDATE", "DELETE"])),
            "variables": variables(
                {
                    # An update is about the pod that was asked for; the target never changes anyway.
                    "request": "request.operation == 'CREATE' ? object : oldObject",
                    "pod": f"variables.request.{api.pod}",
                }
            ),
            "validations": [
                {
                    "expression": may,
                    "message": f"{api.asks} must be allowed to delete the pod",
                    "messageExpression": message_expression,
                    "reason": "Forbidden",
                }
            ],
        },
    )


def _steps(api: _Api) -> Obj:
    """What a definition cannot hold, as it sees no annotations, finalizers and times of deletion."""
    policy, kind = api.fields.policy, api.kind
    stamp = f"metadata.?annotations[?'{ADMITTED_STAMP}'].orValue('')"
    forbids, forbade = (
        f"{owner}.?status.?{policy}.orValue('{ALLOW}') == '{FORBID}'" for owner in ("object", "oldObject")
    )
    deleted = "has(oldObject.metadata.deletionTimestamp)"
    return policy_of(
        api.steps,
        {
            "matchConstraints": matched(rule_about(kind, ["UPDATE"], "", "status")),
            "validations": [
                validation(
                    f"object.{stamp} == oldObject.{stamp}",
                    f"metadata.annotations[{ADMITTED_STAMP}]: field is immutable",
                    "Invalid",
                ),
                validation(
                    f"!({deleted} && {forbids} && !({forbade}))",
                    f"status.{policy}: may not become Forbid while the {api.fields.request} is being deleted",
                ),
                *(_of_instigators(forbids, forbade) if kind == EVACUATIONS else ()),
            ],
        },
    )


def _of_instigators(forbids: str, forbade: str) -> list[Obj]:
    """Instigators are finalizers: what the definition of EvictionRequests holds about requesters."""
    joined = f"object.{_INSTIGATORS}.exists(f, !(f in oldObject.?metadata.?finalizers.orValue([])))"
    return [
        validation(
            f"!({WAS_COMPLETE}) || !({joined})",
            "metadata.finalizers: no instigator may be added once the evacuation is complete",
        ),
        validation(
            f"!({forbids}) || {forbade} || size(oldObject.{_INSTIGATORS}) > 0",
            f"status.{EVACUATION_FIELDS.policy}: may not become Forbid without instigators",
        ),
    ]


def _finalizers() -> Obj:
    """What can keep an EvictionRequest needs the right that Kubernetes has for it.

    Its name is the UID of its pod: while one is kept there, no other can be made. So who adds a finalizer
    needs the right to update `evictionrequests/finalizers`, and so does who deletes a request in a way by
    which objects that it owns keep it. The finalizers that the API server adds for a deletion do not come by
    here. Finalizers of Evacuations are part of that API.
    """
    kind = EVICTIONREQUESTS
    may = (
        f"authorizer.group('{kind.group}').resource('{kind.plural}').subresource('finalizers')"
        ".namespace(request.namespace).name(variables.name).check('update').allowed()"
    )
    options = "dyn(request.?options.orValue({}))"
    kept = (
        f"{options}.?propagationPolicy.orValue('Background') != 'Background'"
        f" || {options}.?orphanDependents.hasValue()"
    )
    right = f"needs the right to update {kind.plural}/finalizers"
    return policy_of(
        FINALIZERS,
        {
            "matchConstraints": matched(rule_about(kind, ["CREATE", "DELETE", "UPDATE"])),
            "variables": variables(
                {
                    "name": "(oldObject == null ? object : oldObject).metadata.?name.orValue('')",
                    "old": "oldObject == null ? [] : oldObject.metadata.?finalizers.orValue([])",
                    "new": "object == null ? [] : object.metadata.?finalizers.orValue([])",
                }
            ),
            "validations": [
                validation(
                    f"variables.new.all(f, f in variables.old) || {may}",
                    f"metadata.finalizers: adding one {right}",
                ),
                validation(
                    f"request.operation != 'DELETE' || !({kept}) || {may}",
                    f"a deletion with another propagationPolicy than Background {right}",
                ),
            ],
        },
    )


def _exclusive_gate(settings: Settings) -> Obj:
    """Pods with claims wait for exclusive volumes: a kubelet does not, and a pod without a node cannot run.

    A policy does not see which volume a claim is bound to. The gate of a pod without exclusive volumes is
    opened at once.
    """
    gates = "%s.spec.?schedulingGates.orValue([]).exists(g, g.name == '" + GATE + "')"
    gated, was_gated = (gates % one for one in ("object", "oldObject"))
    claims = "object.spec.?volumes.orValue([]).exists(v, has(v.persistentVolumeClaim) || has(v.ephemeral))"
    chosen = {"key": OPT_IN, "operator": "In", "values": [OPTED_IN]}
    rule = {**rule_about(PODS, ["CREATE", "UPDATE"]), "scope": "Namespaced"}
    return policy_of(
        EXCLUSIVE_GATE,
        {
            "matchConstraints": {
                "namespaceSelector": {"matchExpressions": [chosen]},
                **matched(rule),
            },
            "validations": [
                validation(
                    f"request.operation != 'CREATE' || !{claims} || {gated}",
                    f"spec.schedulingGates: the namespace has the label {OPT_IN}={OPTED_IN}, so that a pod "
                    "with a persistentVolumeClaim or an ephemeral volume needs the scheduling gate "
                    f"{GATE}: add it to the pod template. Vacate opens it when the pod's exclusive "
                    "volumes are attached for it",
                ),
                validation(
                    f"request.operation != 'UPDATE' || !{was_gated} || {gated}"
                    f" || request.userInfo.username in {listed(settings.controllers)}",
                    f"spec.schedulingGates: only Vacate's manager opens the gate {GATE}, when the pod's "
                    "exclusive volumes are attached for it; vacate explain POD says what it waits for",
                ),
            ],
        },
    )


def _eviction_size() -> Obj:
    """An Eviction is small. Of a larger one the webhook would not read the review, and so let it pass.

    Nothing of it is stored, so the API server itself bounds neither its metadata nor its options, and a body
    of 3 MiB may become many times that in a review; managed fields it drops. Counts and lengths together
    stay within what the webhook reads.
    """
    meta, options = "dyn(object).?metadata", "dyn(object).?deleteOptions"
    short = f"(type(%s) != string || size(%s) <= {_EVICTION_TEXT})"

    def bounded(part: str, empty: str) -> str:
        """No more entries than that, all keys and texts of them short."""
        few = f"size({part}.orValue({empty})) <= {_EVICTION_ENTRIES}"
        value = f"{part}.orValue({empty})[k]" if empty == "{}" else "k"
        texts = " && ".join(short % (one, one) for one in dict.fromkeys(("k", value)))
        return f"{few} && {part}.orValue({empty}).all(k, {texts})"

    owners = f"{meta}.?ownerReferences.orValue([])"
    parts = [
        bounded(meta, "{}"),
        bounded(f"{meta}.?annotations", "{}"),
        bounded(f"{meta}.?labels", "{}"),
        bounded(f"{meta}.?finalizers", "[]"),
        f"size({owners}) <= {_EVICTION_ENTRIES} && {owners}.all(o, {bounded('optional.of(o)', '{}')})",
        bounded(options, "{}"),
        bounded(f"{options}.?preconditions", "{}"),
        bounded(f"{options}.?dryRun", "[]"),
    ]
    message = (
        f"an Eviction has at most {_EVICTION_ENTRIES} entries in each list and map, and texts of at most "
        f"{_EVICTION_TEXT} characters"
    )
    return policy_of(
        EVICTION_SIZE,
        {
            "matchConstraints": matched(rule_about(PODS, ["CREATE"], "eviction")),
            "validations": [validation(one, message) for one in parts],
        },
    )


def _authority(api: _Api, settings: Settings) -> Obj:
    """The controller's fields are the controller's, and reports those of bound accounts."""
    accounts = settings.interceptor_accounts
    return policy_of(
        api.authority,
        {
            "matchConstraints": matched(rule_about(api.kind, ["UPDATE"], "status")),
            "matchConditions": policy_authority.others_only(settings.controllers),
            "variables": policy_authority.variables(accounts, api.fields),
            "validations": policy_authority.validations(accounts, api.fields),
        },
    )


def _responders(accounts: Mapping[str, Sequence[str]], controllers: Sequence[str]) -> Obj:
    """The same of Kubernetes' own API. Where that is not served, nothing matches."""
    return policy_of(
        RESPONDER_AUTHORITY,
        {
            "matchConstraints": matched(rule_about(LIFECYCLE_EVICTIONS, ["UPDATE"], "status")),
            "variables": responder_variables(accounts),
            "validations": responder_validations(controllers),
        },
    )
