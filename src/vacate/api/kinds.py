"""The table of kinds: one entry each, shared by the server's router and discovery and by every client.

A kind of our own is declared in its folder in `vacate.crds`; CRD, admission, the embedded server and tables
follow from the declaration. Three parts are in lower layers, which need them too: its row here, its struct in
`vacate.api.types` and its feature gate in `vacate.features`. A built-in kind that the embedded server serves
is a row here, one each in `kinds` and `strategies` of `vacate.embedded.registry`, and a printer. "Where to
put a change" in ARCHITECTURE.md also names the documents and generators.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_REVIEW_VERBS = ("create",)


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object, such as `status`; its kind where that differs from the object's."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    group: str = ""
    version: str = ""


_STATUS = Subresource("status", ("get", "patch", "update"))
_SCALE = Subresource("scale", ("get", "patch", "update"), kind="Scale", group="autoscaling", version="v1")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind and the one version in which it is served and stored."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    # Field selectors beyond metadata.name and metadata.namespace.
    selectable_fields: tuple[str, ...] = ()
    # Whether it is served as custom resources are: by a structural schema, without strategic merge patches.
    custom: bool = False
    # The feature gate without which it is not served; what is stored stays.
    gate: str = ""

    def __hash__(self) -> int:
        # Kinds are keys of many tables; the generated hash would walk all fields at every look-up.
        return hash((self.group, self.plural))

    @property
    def several(self) -> str:
        """More than one of them, in a sentence: `FencingPolicies`."""
        return f"{self.kind[:-1]}ies" if self.plural.endswith("ies") else f"{self.kind}s"

    @property
    def api_version(self) -> str:
        """`v1` or `apps/v1`: what an object's `apiVersion` says."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """`pods` or `deployments.apps`: the name by which store and messages know it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_kind(self) -> str:
        """`PodList`."""
        return f"{self.kind}List"

    @property
    def stored(self) -> bool:
        """Whether objects of this kind persist; reviews are answered and forgotten."""
        return "get" in self.verbs

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of that name, if the kind has it."""
        return next((sub for sub in self.subresources if sub.name == name), None)

    def collection_path(self, namespace: str | None = None) -> str:
        """The URL path of the collection, of all namespaces where none is given."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"

    def object_path(self, name: str, namespace: str | None = None, subresource: str = "") -> str:
        """The URL path of one object, or of a subresource of it."""
        path = f"{self.collection_path(namespace)}/{name}"
        return f"{path}/{subresource}" if subresource else path


NAMESPACES = Kind(
    "", "v1", "Namespace", "namespaces", "namespace", namespaced=False, short_names=("ns",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    subresources=(_STATUS, Subresource("finalize", ("update",))), selectable_fields=("status.phase",),
)  # fmt: skip
NODES = Kind(
    "", "v1", "Node", "nodes", "node", namespaced=False, short_names=("no",), subresources=(_STATUS,),
    selectable_fields=("spec.unschedulable",),
)  # fmt: skip
PODS = Kind(
    "", "v1", "Pod", "pods", "pod", namespaced=True, short_names=("po",), categories=("all",),
    subresources=(
        _STATUS,
        Subresource("binding", ("create",), kind="Binding", version="v1"),
        Subresource("eviction", ("create",), kind="Eviction", group="policy", version="v1"),
        Subresource("log", ("get",)),
    ),
    selectable_fields=(
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName",
    ),
)  # fmt: skip
EVENTS = Kind(
    "", "v1", "Event", "events", "event", namespaced=True, short_names=("ev",),
    selectable_fields=(
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
        "reason", "reportingComponent", "source", "type",
    ),
)  # fmt: skip
CONFIGMAPS = Kind("", "v1", "ConfigMap", "configmaps", "configmap", namespaced=True, short_names=("cm",))
SECRETS = Kind("", "v1", "Secret", "secrets", "secret", namespaced=True)
SERVICEACCOUNTS = Kind(
    "", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount", namespaced=True, short_names=("sa",),
    subresources=(
        Subresource("token", ("create",), kind="TokenRequest", group="authentication.k8s.io", version="v1"),
    ),
)  # fmt: skip
PODTEMPLATES = Kind("", "v1", "PodTemplate", "podtemplates", "podtemplate", namespaced=True)
PERSISTENTVOLUMES = Kind(
    "", "v1", "PersistentVolume", "persistentvolumes", "persistentvolume", namespaced=False,
    short_names=("pv",), subresources=(_STATUS,),
)  # fmt: skip
PERSISTENTVOLUMECLAIMS = Kind(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim", namespaced=True,
    short_names=("pvc",), subresources=(_STATUS,),
)  # fmt: skip
STORAGECLASSES = Kind(
    "storage.k8s.io", "v1", "StorageClass", "storageclasses", "storageclass", namespaced=False,
    short_names=("sc",),
)  # fmt: skip
DEPLOYMENTS = Kind(
    "apps", "v1", "Deployment", "deployments", "deployment", namespaced=True, short_names=("deploy",),
    categories=("all",), subresources=(_SCALE, _STATUS),
)  # fmt: skip
REPLICASETS = Kind(
    "apps", "v1", "ReplicaSet", "replicasets", "replicaset", namespaced=True, short_names=("rs",),
    categories=("all",), subresources=(_SCALE, _STATUS),
)  # fmt: skip
STATEFULSETS = Kind(
    "apps", "v1", "StatefulSet", "statefulsets", "statefulset", namespaced=True, short_names=("sts",),
    categories=("all",), subresources=(_SCALE, _STATUS),
)  # fmt: skip
DAEMONSETS = Kind(
    "apps", "v1", "DaemonSet", "daemonsets", "daemonset", namespaced=True, short_names=("ds",),
    categories=("all",), subresources=(_STATUS,),
)  # fmt: skip
CONTROLLERREVISIONS = Kind(
    "apps", "v1", "ControllerRevision", "controllerrevisions", "controllerrevision", namespaced=True
)
HORIZONTALPODAUTOSCALERS = Kind(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontalpodautoscaler",
    namespaced=True, short_names=("hpa",), categories=("all",), subresources=(_STATUS,),
)  # fmt: skip
JOBS = Kind(
    "batch", "v1", "Job", "jobs", "job", namespaced=True, categories=("all",), subresources=(_STATUS,),
)  # fmt: skip
CRONJOBS = Kind(
    "batch", "v1", "CronJob", "cronjobs", "cronjob", namespaced=True, short_names=("cj",),
    categories=("all",), subresources=(_STATUS,),
)  # fmt: skip
PODDISRUPTIONBUDGETS = Kind(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget", namespaced=True,
    short_names=("pdb",), subresources=(_STATUS,),
)  # fmt: skip
LEASES = Kind("coordination.k8s.io", "v1", "Lease", "leases", "lease", namespaced=True)
EVICTIONREQUESTS = Kind(
    "evictionrequest.coordination.k8s.io", "v1alpha1", "EvictionRequest", "evictionrequests",
    "evictionrequest", namespaced=True, short_names=("evreq",), subresources=(_STATUS,), custom=True,
    gate="EvictionRequestAPI",
)  # fmt: skip
EVACUATIONS = Kind(
    "evacuation.coordination.k8s.io", "v1alpha1", "Evacuation", "evacuations", "evacuation", namespaced=True,
    short_names=("evac",), subresources=(_STATUS,), custom=True, gate="EvacuationAPI",
)  # fmt: skip
_LIFECYCLE = ("lifecycle.k8s.io", "v1alpha1")
LIFECYCLE_REQUESTS = Kind(
    *_LIFECYCLE, "EvictionRequest", "evictionrequests", "evictionrequest", namespaced=True,
    subresources=(_STATUS,), gate="LifecycleAPI",
)  # fmt: skip
LIFECYCLE_EVICTIONS = Kind(
    *_LIFECYCLE, "Eviction", "evictions", "eviction", namespaced=True, subresources=(_STATUS,),
    gate="LifecycleAPI",
)  # fmt: skip
NODEMAINTENANCES = Kind(
    "vacate.dev", "v1alpha1", "NodeMaintenance", "nodemaintenances", "nodemaintenance", namespaced=False,
    short_names=("nm",), subresources=(_STATUS,), custom=True, gate="NodeMaintenance",
)  # fmt: skip
FENCINGPOLICIES = Kind(
    "vacate.dev", "v1alpha1", "FencingPolicy", "fencingpolicies", "fencingpolicy", namespaced=False,
    short_names=("fp",), subresources=(_STATUS,), custom=True, gate="Fencing",
)  # fmt: skip
DESCHEDULINGPOLICIES = Kind(
    "vacate.dev", "v1alpha1", "DeschedulingPolicy", "deschedulingpolicies", "deschedulingpolicy",
    namespaced=False, short_names=("dsp",), subresources=(_STATUS,), custom=True, gate="Descheduling",
)  # fmt: skip
PRIORITYCLASSES = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass", namespaced=False,
    short_names=("pc",),
)  # fmt: skip
_ADMISSION = "admissionregistration.k8s.io"
VALIDATINGADMISSIONPOLICIES = Kind(
    _ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "validatingadmissionpolicy",
    namespaced=False, categories=("api-extensions",), subresources=(_STATUS,),
)  # fmt: skip
VALIDATINGADMISSIONPOLICYBINDINGS = Kind(
    _ADMISSION, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings",
    "validatingadmissionpolicybinding", namespaced=False, categories=("api-extensions",),
)  # fmt: skip
_RBAC = "rbac.authorization.k8s.io"
ROLES = Kind(_RBAC, "v1", "Role", "roles", "role", namespaced=True)
ROLEBINDINGS = Kind(_RBAC, "v1", "RoleBinding", "rolebindings", "rolebinding", namespaced=True)
CLUSTERROLES = Kind(_RBAC, "v1", "ClusterRole", "clusterroles", "clusterrole", namespaced=False)
CLUSTERROLEBINDINGS = Kind(
    _RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding", namespaced=False
)
SUBJECTACCESSREVIEWS = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", "subjectaccessreview",
    namespaced=False, verbs=_REVIEW_VERBS,
)  # fmt: skip
SELFSUBJECTACCESSREVIEWS = Kind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
    "selfsubjectaccessreview", namespaced=False, verbs=_REVIEW_VERBS,
)  # fmt: skip
TOKENREVIEWS = Kind(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", "tokenreview",
    namespaced=False, verbs=_REVIEW_VERBS,
)  # fmt: skip
SELFSUBJECTREVIEWS = Kind(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", "selfsubjectreview",
    namespaced=False, verbs=_REVIEW_VERBS,
)  # fmt: skip
