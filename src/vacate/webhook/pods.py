"""Reviews of pods: interceptors that a pod names are checked; to a pod that names none, rules add them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vacate.admission.context import Context
from vacate.admission.pods.annotations import registration_errors
from vacate.admission.pods.hookwrapper import HookWrapper, wrapped_pod
from vacate.admission.pods.interceptors import FIELD, RESPONDERS
from vacate.admission.pods.newpods import added_annotations, added_responders
from vacate.admission.pods.registrationrules import PodRule
from vacate.api import status
from vacate.api.jsonpatch import json_patch
from vacate.api.kinds import NAMESPACES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.untyped import controller_of, mapping
from vacate.errors import BadRequest
from vacate.eviction.registration import annotations_of, registering
from vacate.webhook.admissionreview import ALLOWED, AdmissionRequest, ReviewResult
from vacate.wire.json import check_depth

GATE = "EvictionRequestAPI"


def mutate(request: AdmissionRequest, ctx: Context, rules: Sequence[PodRule]) -> ReviewResult:
    """Annotate a new pod whose author has registered nobody; what the author wrote stays as it is."""
    if request.operation != "CREATE" or ctx.subresource or not rules or not ctx.gates.enabled(GATE):
        return ALLOWED
    pod = _read(request.encoded_object)
    if registering(annotations_of(pod)) or dig(pod, "spec", FIELD):
        return ALLOWED
    rule = _first_match(pod, request.namespace or "", rules, ctx)
    if rule is None:
        return ALLOWED
    return ReviewResult(patch=_annotations_patch(pod, rule.annotations))


def register(request: AdmissionRequest, ctx: Context) -> ReviewResult:
    """Register the interceptors of its workload on a new pod, where the workload has opted in."""
    if request.operation != "CREATE" or ctx.subresource:
        return ALLOWED
    pod = _read(request.encoded_object)
    namespace = request.namespace or ""
    added, responders = added_annotations(pod, namespace, ctx), added_responders(pod, namespace, ctx)
    patch = _annotations_patch(pod, added) if added else []
    if responders:
        patch.append({"op": "add", "path": f"/spec/{RESPONDERS}", "value": responders})
    return ReviewResult(patch=patch) if patch else ALLOWED


def wrap_hooks(request: AdmissionRequest, ctx: Context, wrapper: HookWrapper | None) -> ReviewResult:
    """Wrap the preStop hooks of a new pod, so that they learn why it is terminated."""
    if request.operation != "CREATE" or ctx.subresource or wrapper is None:
        return ALLOWED
    pod = _checked(request.new())
    made, warnings = wrapped_pod(pod, wrapper)
    return ReviewResult(patch=json_patch(pod, made), warnings=warnings)


def _annotations_patch(pod: Obj, added: Mapping[str, str]) -> list[Obj]:
    given = dig(pod, "metadata", "annotations")
    if given is None:
        return [{"op": "add", "path": "/metadata/annotations", "value": dict(added)}]
    return list(json_patch(given, {**given, **added}, "/metadata/annotations"))


def validate(request: AdmissionRequest, ctx: Context) -> ReviewResult:
    """Refuse annotations that would later refuse every request for the pod."""
    if request.operation not in ("CREATE", "UPDATE") or ctx.subresource:
        return ALLOWED
    pod = _read(request.encoded_object)
    before = _read(request.encoded_old_object) if request.operation == "UPDATE" else None
    if field_errors := registration_errors(pod, before, ctx):
        raise status.invalid(PODS, request.name or "", field_errors)
    return ALLOWED


def _first_match(pod: Obj, namespace: str, rules: Sequence[PodRule], ctx: Context) -> PodRule | None:
    labels, kind = _labels(pod), str(controller_of(pod).get("kind", ""))
    for rule in rules:
        if rule.owner_kinds and kind not in rule.owner_kinds:
            continue
        if rule.pods.matches(labels) and _in_namespace(rule, namespace, ctx):
            return rule
    return None


def _in_namespace(rule: PodRule, namespace: str, ctx: Context) -> bool:
    """The namespace is looked at only where a rule goes by its labels."""
    if rule.namespaces.everything:
        return True
    found = ctx.lookup(NAMESPACES, "", namespace)
    return found is not None and rule.namespaces.matches(_labels(found))


def _labels(obj: Obj) -> dict[str, str]:
    found = mapping(dig(obj, "metadata", "labels"))
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _checked(pod: Obj) -> Obj:
    meta = pod.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("annotations") or {}, dict):
        raise BadRequest("the object of the review is not a Pod: metadata is missing or malformed")
    return pod


class _Spec(msgspec.Struct):
    interceptors: Any = msgspec.field(default=None, name=FIELD)
    responders: Any = msgspec.field(default=None, name=RESPONDERS)
    group: Any = msgspec.field(default=None, name="schedulingGroup")


class _Pod(msgspec.Struct):
    """What registration is about. The rest of a pod, which may be large, is passed over."""

    metadata: Any = None
    spec: _Spec | None = None


_DECODER = msgspec.json.Decoder(_Pod)


def _read(encoded: msgspec.Raw) -> Obj:
    """The metadata of the pod in a review, and of its spec what registration is about."""
    try:
        found = _DECODER.decode(encoded)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadRequest(f"the object of the review is not a Pod: {error}") from None
    check_depth(found.metadata)
    if found.spec is None:
        return _checked({"metadata": found.metadata, "spec": {}})
    spec = {
        FIELD: found.spec.interceptors, RESPONDERS: found.spec.responders, "schedulingGroup": found.spec.group
    }  # fmt: skip
    return _checked({"metadata": found.metadata, "spec": spec})
