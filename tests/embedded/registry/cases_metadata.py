"""Cases of the rules that all kinds share."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep, Refused
from embedded.registry.given import GONE
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, LEASES, NODES, PODS

DNS_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
    " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
    " for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_A = "all-kinds/metadata."
_OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-9"}
_SHOWN = '{"apiVersion":"v1","kind":"Event","name":"e","uid":"u-9"}'
_BOSSES = [{**_OWNER, "controller": True}, {**_OWNER, "name": "b", "controller": True}]
_BOTH = (
    '[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u-9","controller":true},'
    '{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"b","uid":"u-9","controller":true}]'
)
_DELETED = {"metadata.deletionTimestamp": "2026-08-20T12:00:00Z", "metadata.deletionGracePeriodSeconds": 30}

CASES: Cases = (
    Done(f"{_A}selfLink/dropped", PODS, {"metadata.selfLink": "/x"}, "metadata.selfLink", None),
    Done(f"{_A}managedFields/dropped", PODS, {"metadata.managedFields": [{}]}, "metadata.managedFields", None),
    Done(f"{_A}deletionTimestamp/dropped", PODS, {"metadata.deletionTimestamp": "2026-01-01T00:00:00Z"},
         "metadata.deletionTimestamp", None),
    Done(f"{_A}deletionGracePeriodSeconds/dropped", PODS, {"metadata.deletionGracePeriodSeconds": 5},
         "metadata.deletionGracePeriodSeconds", None),
    Done(f"{_A}reason/dropped", PODS, {"metadata.reason": "mine"}, "metadata.reason", None),
    Done(f"{_A}generation/set", DEPLOYMENTS, {"metadata.generation": 9}, "metadata.generation", 1),
    Done(f"{_A}generation/set", CONFIGMAPS, {"metadata.generation": 9}, "metadata.generation", 9),
    Refused(f"{_A}resourceVersion/refused", PODS, {"metadata.resourceVersion": "3"}, 500,
            "resourceVersion should not be set on objects to be created"),
    DoneByStep(f"{_A}resourceVersion/kept", PODS, {"metadata.resourceVersion": GONE},
               "metadata.resourceVersion", "7"),
    DoneByStep(f"{_A}uid/kept", PODS, {"metadata.uid": GONE}, "metadata.uid", "u-1"),
    DoneByStep(f"{_A}creationTimestamp/kept", PODS, {"metadata.creationTimestamp": "2020-01-01T00:00:00Z"},
               "metadata.creationTimestamp", "2026-08-20T11:00:00Z"),
    DoneByStep(f"{_A}deletionTimestamp/kept", PODS, {"metadata.deletionTimestamp": GONE},
               "metadata.deletionTimestamp", "2026-08-20T12:00:00Z", _DELETED),
    DoneByStep(f"{_A}deletionTimestamp/kept", PODS, {"metadata.deletionTimestamp": "2030-01-01T00:00:00Z"},
               "metadata.deletionTimestamp", "2026-08-20T12:00:00Z", _DELETED, "status"),
    DoneByStep(f"{_A}deletionGracePeriodSeconds/kept", PODS, {"metadata.deletionGracePeriodSeconds": GONE},
               "metadata.deletionGracePeriodSeconds", 30, _DELETED),
    DoneByStep(f"{_A}reason/kept", PODS, {"metadata.reason": GONE}, "metadata.reason", "Update",
               {**_DELETED, "metadata.reason": "Update"}),
    Broken(f"{_A}generateName/invalid", PODS, {"metadata.generateName": "Web-"},
           f'metadata.generateName: Invalid value: "Web-": {SUBDOMAIN}'),
    Broken(f"{_A}name/required", PODS, {"metadata.name": ""},
           "metadata.name: Required value: name or generateName is required"),
    Broken(f"{_A}name/invalid", PODS, {"metadata.name": "Web"},
           f'metadata.name: Invalid value: "Web": {SUBDOMAIN}'),
    Broken(f"{_A}namespace/required", PODS, {"metadata.namespace": GONE}, "metadata.namespace: Required value"),
    Broken(f"{_A}namespace/invalid", PODS, {"metadata.namespace": "a.b"},
           'metadata.namespace: Invalid value: "a.b": must not contain dots'),
    Broken(f"{_A}namespace/forbidden", NODES, {"metadata.namespace": "shop"},
           "metadata.namespace: Forbidden: not allowed on this type"),
    Broken(f"{_A}generation/invalid", CONFIGMAPS, {"metadata.generation": -1},
           "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
    Broken(f"{_A}annotations/invalid", PODS, {"metadata.annotations": {"A_": ""}},
           f'metadata.annotations: Invalid value: "A_": {KEY}'),
    Broken(f"{_A}annotations/too-long", PODS, {"metadata.annotations": {"a": "x" * 262144}},
           "metadata.annotations: Too long: may not be more than 262144 bytes"),
    Broken(f"{_A}annotations/too-long", PODS, {"metadata.annotations": {"a": "é" * 131072}},
           "metadata.annotations: Too long: may not be more than 262144 bytes"),
    Broken(f"{_A}finalizers/invalid", PODS, {"metadata.finalizers": ["a.b/-"]},
           f'metadata.finalizers: Invalid value: "a.b/-": {KEY}'),
    Broken(f"{_A}finalizers/invalid/conflict", PODS, {"metadata.finalizers": ["orphan", "foregroundDeletion"]},
           'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]:'
           " finalizer orphan and foregroundDeletion cannot be both set"),
    Broken(f"{_A}finalizers[]/invalid", PODS, {"metadata.finalizers": ["kubernetes", "mine"]},
           'metadata.finalizers[1]: Invalid value: "mine":'
           " name is neither a standard finalizer name nor is it fully qualified"),
    BrokenStep(f"{_A}finalizers/forbidden", PODS, {"metadata.finalizers": ["a.b/d", "a.b/c"]},
               "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted,"
               ' found new finalizers []string{"a.b/c", "a.b/d"}', _DELETED),
    BrokenStep(f"{_A}name/invalid/fixed", PODS, {"metadata.name": "other"},
               'metadata.name: Invalid value: "other": field is immutable'),
    BrokenStep(f"{_A}namespace/invalid/fixed", PODS, {"metadata.namespace": "other"},
               'metadata.namespace: Invalid value: "other": field is immutable'),
    BrokenStep(f"{_A}uid/invalid", PODS, {"metadata.uid": "u-2"},
               'metadata.uid: Invalid value: "u-2": field is immutable'),
    BrokenStep(f"{_A}deletionTimestamp/invalid", PODS, {"metadata.deletionTimestamp": "2026-01-01T00:00:00Z"},
               'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable'),
    BrokenStep(f"{_A}deletionGracePeriodSeconds/invalid", PODS, {"metadata.deletionGracePeriodSeconds": 5},
               "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable", _DELETED),
    BrokenStep(f"{_A}deletionGracePeriodSeconds/invalid", PODS, {"metadata.deletionGracePeriodSeconds": 0},
               "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable"),
    BrokenStep(f"{_A}reason/invalid", PODS, {"metadata.reason": "mine"},
               'metadata.reason: Invalid value: "mine": field is immutable', {**_DELETED, "metadata.reason": "Update"}),
    BrokenStep(f"{_A}reason/invalid", PODS, {"metadata.reason": "mine"},
               'metadata.reason: Invalid value: "mine": field is immutable'),
    Broken(f"{_A}ownerReferences.apiVersion/invalid", PODS,
           {"metadata.ownerReferences": [{**_OWNER, "apiVersion": "a/b/c"}]},
           'metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>'),
    Broken(f"{_A}ownerReferences.kind/invalid", PODS, {"metadata.ownerReferences": [{**_OWNER, "kind": ""}]},
           'metadata.ownerReferences[0].kind: Required value: must not be empty'),
    Broken(f"{_A}ownerReferences.name/invalid", PODS, {"metadata.ownerReferences": [{**_OWNER, "name": ""}]},
           'metadata.ownerReferences[0].name: Required value: must not be empty'),
    Broken(f"{_A}ownerReferences.uid/invalid", PODS, {"metadata.ownerReferences": [{**_OWNER, "uid": ""}]},
           'metadata.ownerReferences[0].uid: Required value: must not be empty'),
    Broken(f"{_A}ownerReferences/invalid/event", PODS,
           {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u-9"}]},
           f"metadata.ownerReferences[0]: Invalid value: {_SHOWN}:"
           " /v1, Kind=Event is disallowed from being an owner"),
    Broken(f"{_A}ownerReferences/invalid/controller", PODS, {"metadata.ownerReferences": _BOSSES},
           f"metadata.ownerReferences: Invalid value: {_BOTH}: Only one reference can have Controller set to"
           ' true. Found "true" in references for ReplicaSet/web and ReplicaSet/b'),
    BrokenStep(f"{_A}resourceVersion/invalid", LEASES, {"metadata.resourceVersion": ""},
               "metadata.resourceVersion: Invalid value: 0: must be specified for an update"),
)  # fmt: skip
