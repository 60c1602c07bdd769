"""FencingPolicy: which unreachable nodes are switched off, when, by which agent, and how far that has come.

The structs are the one source of the kind's schema: descriptions and limits stand beside the fields, and the
CRD, the OpenAPI document and the reference page are made from them.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec

from vacate.api.integers import Int32, Int64
from vacate.api.types.evictionrequest import RequestCondition, described
from vacate.api.types.labelselector import LabelSelectorSpec
from vacate.api.types.meta import ObjectMeta, Projection, check_times

PODS_WAIT, ALWAYS = "PodsWait", "Always"
AUTOMATIC, MANUAL = "Automatic", "Manual"
POWER, STORAGE = "Power", "Storage"

UNREACHABLE, HELD, AWAITING_APPROVAL = "Unreachable", "Held", "AwaitingApproval"
FENCING, CONFIRMING, FAILED, FENCED = "Fencing", "Confirming", "Failed", "Fenced"
SWITCHING_ON, CONTRADICTED = "SwitchingOn", "Contradicted"
PHASES = (
    UNREACHABLE, HELD, AWAITING_APPROVAL, FENCING, CONFIRMING, FAILED, FENCED, SWITCHING_ON, CONTRADICTED,
)  # fmt: skip
UNDER_WAY = (FENCING, CONFIRMING, FAILED, FENCED, SWITCHING_ON, CONTRADICTED)
"""Phases of nodes about which something was decided; the others only say what is waited for."""

MIN_UNREACHABLE, MAX_UNREACHABLE = 10, 86_400
MAX_AGENT_TIMEOUT = 600
MAX_ROWS = 500
MAX_MESSAGE = 1024
MAX_CONDITIONS = 20

_SUBDOMAIN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_OPTION_VALUE = Annotated[str, described("", maxLength=4096)]


class SecretReference(Projection, frozen=True):
    """A Secret, whose name may depend on the node."""

    namespace: Annotated[
        str, described("Namespace of the Secret.", required=True, maxLength=63, pattern=_LABEL)
    ] = ""
    name: Annotated[
        str,
        described(
            "Name of the Secret. $(NODE) is replaced by the name of the node, for one Secret per machine.",
            required=True,
            minLength=1,
            maxLength=253,
        ),
    ] = ""


class CommandAgent(Projection, frozen=True):
    """A program of the ClusterLabs fence agent protocol, such as fence_redfish."""

    program: Annotated[
        str,
        described(
            "Name of the fence agent, such as fence_redfish. It must be installed where the manager runs. "
            "Must not be a path.",
            required=True,
            maxLength=66,
            pattern="^fence_[a-z0-9_]{1,60}$",
        ),
    ] = ""
    options: Annotated[
        dict[str, _OPTION_VALUE],
        described(
            "Options of the agent, by name. $(NODE) is replaced by the name of the node. Put credentials "
            "into the Secret instead.",
            maxProperties=64,
        ),
    ] = msgspec.field(default_factory=dict)
    secret_ref: Annotated[
        SecretReference | None,
        described(
            "Secret with further options: each key is the name of an option. The agent receives all options "
            "on standard input."
        ),
    ] = None


class HttpAgent(Projection, frozen=True):
    """An HTTP service that powers machines off and on."""

    url: Annotated[
        str,
        described(
            "URL to which the manager sends POST requests, without credentials. $(NODE) is replaced by the "
            "name of the node.",
            required=True,
            maxLength=2048,
            pattern="^https?://[^\\s]+$",
        ),
    ] = ""
    secret_ref: Annotated[
        SecretReference | None,
        described(
            "Secret with the keys token, which is sent as bearer token, and ca.crt, the certificates to "
            "trust. Both keys are optional."
        ),
    ] = None


class JobAgent(Projection, frozen=True):
    """A Job for each call, created from a PodTemplate in Vacate's own namespace."""

    pod_template: Annotated[
        str,
        described(
            "Name of a PodTemplate in Vacate's own namespace. Each call runs it as a Job, which reports the "
            "state of the machine in its termination message.",
            required=True,
            minLength=1,
            maxLength=253,
            pattern=_SUBDOMAIN,
        ),
    ] = ""


class AgentSpec(Projection, frozen=True):
    """The fence agent: exactly one of command, http and job."""

    command: Annotated[CommandAgent | None, described("A program of the ClusterLabs protocol.")] = None
    http: Annotated[HttpAgent | None, described("An HTTP service.")] = None
    job: Annotated[JobAgent | None, described("A Job for each call of the agent.")] = None
    mechanism: Annotated[
        str,
        described(
            "What the state off means. Power: the machine is powered off. Storage: the machine may still "
            "run, but is cut off from its storage, and gets it back only after a restart.",
            enum=[POWER, STORAGE],
            default=POWER,
        ),
    ] = POWER
    timeout_seconds: Annotated[
        Int32,
        described(
            "How long one call of the agent may take, in seconds. A call that takes longer counts as failed.",
            minimum=1,
            maximum=MAX_AGENT_TIMEOUT,
            default=60,
        ),
    ] = 60


class FencingPolicySpec(Projection, frozen=True):
    """Which nodes are fenced, when, within which limits, and with which agent."""

    node_selector: Annotated[
        LabelSelectorSpec | None,
        described(
            "The labels of the nodes to which the policy applies. If it is not set, the policy applies to "
            "all nodes. Must not be empty."
        ),
    ] = None
    unreachable_seconds: Annotated[
        Int32,
        described(
            "How long a node must be unreachable (condition Ready is Unknown) before it is fenced, in "
            "seconds, as observed by the manager.",
            minimum=MIN_UNREACHABLE,
            maximum=MAX_UNREACHABLE,
            default=60,
        ),
    ] = 60
    budget_spent_seconds: Annotated[
        Int32 | None,
        described(
            "Replaces unreachableSeconds, if it is smaller, for nodes with a waiting pod whose disruption "
            "budget allows no more disruptions. In seconds. If it is not set, unreachableSeconds applies.",
            minimum=MIN_UNREACHABLE,
            maximum=MAX_UNREACHABLE,
        ),
    ] = None
    when: Annotated[
        str,
        described(
            "Which pods are a reason to fence a node. PodsWait: only pods of the node that are being "
            "deleted, which happens when their toleration of the unreachable node has expired, and pods "
            "elsewhere that wait for an exclusive volume which the node has. Always: all pods of the node "
            "too. Pods of DaemonSets, static pods and terminated pods never count.",
            enum=[PODS_WAIT, ALWAYS],
            default=PODS_WAIT,
        ),
    ] = PODS_WAIT
    min_pod_priority: Annotated[
        Int32 | None,
        described(
            "Only pods of at least this priority are a reason to fence their node. If it is not set, pods of "
            "every priority are."
        ),
    ] = None
    min_healthy: Annotated[
        Int32 | str,
        described(
            "How many of the other nodes must be ready and must report before a node is fenced: a number, or "
            "a percentage such as 51%, rounded up.",
            minimum=1,
            maximum=100_000,
            maxLength=4,
            pattern="^([1-9][0-9]?|100)%$",
            default="51%",
        ),
    ] = "51%"
    max_fenced: Annotated[
        Int32,
        described(
            "How many nodes may be out of service or being fenced at the same time, whatever fences them.",
            minimum=1,
            maximum=1000,
            default=1,
        ),
    ] = 1
    approval: Annotated[
        str,
        described(
            "Automatic fences without approval. Manual waits before each fence until a person runs vacate "
            "fence NODE --approve.",
            enum=[AUTOMATIC, MANUAL],
            default=AUTOMATIC,
        ),
    ] = AUTOMATIC
    power_on: Annotated[
        str,
        described(
            "Automatic powers a machine on again when the pods of its node are released. Manual leaves that "
            "to people. In both cases the node gets new pods only when the machine is on and the node "
            "reports. With mechanism Storage, this applies to restoring the storage, after a restart.",
            enum=[AUTOMATIC, MANUAL],
            default=MANUAL,
        ),
    ] = MANUAL
    agent: Annotated[AgentSpec, described("The agent that fences nodes.", required=True)] = msgspec.field(
        default_factory=AgentSpec
    )


class NodeFencing(Projection, frozen=True):
    """The state of one unreachable or fenced node."""

    name: Annotated[str, described("Name of the node.", required=True, maxLength=253)] = ""
    uid: Annotated[
        str, described("UID of the node. Another node of the same name does not count.", maxLength=253)
    ] = ""
    phase: Annotated[str, described("State of the fence.", required=True, enum=list(PHASES))] = ""
    since: Annotated[
        dt.datetime | None, described("Since when the condition Ready of the node is Unknown.")
    ] = None
    pods_waiting: Annotated[Int32, described("Number of pods that are a reason to fence the node.")] = 0
    start_time: Annotated[
        dt.datetime | None, described("When the fence was decided. Written before the agent is called.")
    ] = None
    latest_loss: Annotated[
        dt.datetime | None,
        described(
            "When the latest node became unreachable before the fence was decided, by the clock of node "
            "conditions. A node that becomes unreachable later may be one whose machine the agent powered "
            "off by mistake."
        ),
    ] = None
    last_report: Annotated[
        str,
        described("The last renewal of the node's Lease when the fence was decided.", maxLength=64),
    ] = ""
    attempts: Annotated[Int32, described("Number of attempts to fence the node.")] = 0
    retry_time: Annotated[dt.datetime | None, described("When the next attempt begins.")] = None
    power: Annotated[
        str,
        described(
            "The state of the machine that the agent reported last.", enum=["", "on", "off", "unknown"]
        ),
    ] = ""
    holder: Annotated[
        str, described("Identity of the process that carries out the fence.", maxLength=253)
    ] = ""
    hold_time: Annotated[dt.datetime | None, described("When another process may take over the fence.")] = (
        None
    )
    message: Annotated[str, described("State for people, in one sentence.", maxLength=MAX_MESSAGE)] = ""

    def __post_init__(self) -> None:
        check_times(self.since, self.start_time, self.latest_loss, self.retry_time, self.hold_time)

    @property
    def under_way(self) -> bool:
        """Whether something was decided about the node."""
        return self.phase in UNDER_WAY


class FencingPolicyStatus(Projection, frozen=True):
    """The state of the unreachable and fenced nodes. Written by the controller."""

    observed_generation: Annotated[Int64, described("Generation of the spec that the status describes.")] = 0
    # Zeros are not written; with a default in the schema `kubectl get` shows 0 and no blank.
    nodes_unreachable: Annotated[
        Int32, described("Number of nodes of the policy that are unreachable or fenced.", default=0)
    ] = 0
    nodes_fenced: Annotated[Int32, described("Number of nodes that are fenced.", default=0)] = 0
    message: Annotated[str, described("State for people, in one sentence.", maxLength=MAX_MESSAGE)] = ""
    nodes: Annotated[
        list[NodeFencing],
        described(
            "The nodes that are unreachable or fenced.",
            maxItems=MAX_ROWS,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    ] = msgspec.field(default_factory=list)
    conditions: Annotated[
        list[RequestCondition],
        described(
            "Fencing: whether a node is being fenced. Failing: whether a fence failed or its result is "
            "unclear; nothing was released then.",
            maxItems=MAX_CONDITIONS,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = msgspec.field(default_factory=list)


class FencingPolicy(Projection, frozen=True):
    """Fences unreachable nodes, verifies that, and only then releases their pods."""

    metadata: Annotated[ObjectMeta, described("")] = msgspec.field(default_factory=ObjectMeta)
    spec: Annotated[FencingPolicySpec, described("Which nodes are fenced, when, and how.", required=True)] = (
        msgspec.field(default_factory=FencingPolicySpec)
    )
    status: Annotated[FencingPolicyStatus, described("State of the nodes. Written by the controller.")] = (
        msgspec.field(default_factory=FencingPolicyStatus)
    )
