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
    """A Secret. `$(NODE)` in its name stands for the name of the node."""

    namespace: Annotated[
        str, described("The namespace of the Secret.", required=True, maxLength=63, pattern=_LABEL)
    ] = ""
    name: Annotated[
        str,
        described(
            "The name of the Secret. $(NODE) stands for the node's name, so that each machine has its own.",
            required=True,
            minLength=1,
            maxLength=253,
        ),
    ] = ""


class CommandAgent(Projection, frozen=True):
    """A program of the ClusterLabs protocol, such as fence_redfish, that runs beside the controller."""

    program: Annotated[
        str,
        described(
            "The name of the agent. It must be installed where the controller runs; paths are not taken.",
            required=True,
            maxLength=66,
            pattern="^fence_[a-z0-9_]{1,60}$",
        ),
    ] = ""
    options: Annotated[
        dict[str, _OPTION_VALUE],
        described(
            "Options of the agent. $(NODE) stands for the node's name. Credentials belong into the Secret.",
            maxProperties=64,
        ),
    ] = msgspec.field(default_factory=dict)
    secret_ref: Annotated[
        SecretReference | None,
        described("Further options, each key of the Secret one; passed on standard input."),
    ] = None


class HttpAgent(Projection, frozen=True):
    """A service that switches machines and says for which node it answers."""

    url: Annotated[
        str,
        described(
            "Where requests are posted to. $(NODE) stands for the node's name.",
            required=True,
            maxLength=2048,
            pattern="^https?://[^\\s]+$",
        ),
    ] = ""
    secret_ref: Annotated[
        SecretReference | None,
        described("Key token is sent as a bearer token; key ca.crt holds the certificates that are trusted."),
    ] = None


class JobAgent(Projection, frozen=True):
    """A Job for each call, from a PodTemplate in Vacate's own namespace."""

    pod_template: Annotated[
        str,
        described(
            "The name of a PodTemplate in Vacate's own namespace. Each call is a Job of it, which says in "
            "its termination message what the machine's state is.",
            required=True,
            minLength=1,
            maxLength=253,
            pattern=_SUBDOMAIN,
        ),
    ] = ""


class AgentSpec(Projection, frozen=True):
    """What switches machines off and on, or cuts them off from their storage. Exactly one must be given."""

    command: Annotated[CommandAgent | None, described("A fence agent of the ClusterLabs protocol.")] = None
    http: Annotated[HttpAgent | None, described("A service that is asked by HTTP.")] = None
    job: Annotated[JobAgent | None, described("A Job for each call.")] = None
    mechanism: Annotated[
        str,
        described(
            "What off means. Power: the machine is off. Storage: it may run on and is cut off from its "
            "storage, so that nothing of it can write; it gets that back only when it was restarted.",
            enum=[POWER, STORAGE],
            default=POWER,
        ),
    ] = POWER
    timeout_seconds: Annotated[
        Int32,
        described(
            "How long one call may take. One that takes longer has failed.",
            minimum=1,
            maximum=MAX_AGENT_TIMEOUT,
            default=60,
        ),
    ] = 60


class FencingPolicySpec(Projection, frozen=True):
    """Which nodes are fenced, when, within which limits, and by what."""

    node_selector: Annotated[
        LabelSelectorSpec | None,
        described("The nodes by label. Without it all nodes are meant. Must not be empty."),
    ] = None
    unreachable_seconds: Annotated[
        Int32,
        described(
            "How long a node must have been seen to be unreachable (Ready=Unknown) before it is fenced.",
            minimum=MIN_UNREACHABLE,
            maximum=MAX_UNREACHABLE,
            default=60,
        ),
    ] = 60
    budget_spent_seconds: Annotated[
        Int32 | None,
        described(
            "The same for nodes with a waiting pod whose disruption budget allows no disruption any more. "
            "Without it there is no difference.",
            minimum=MIN_UNREACHABLE,
            maximum=MAX_UNREACHABLE,
        ),
    ] = None
    when: Annotated[
        str,
        described(
            "PodsWait fences a node only for pods that wait to be released: pods that are being deleted, as "
            "they are once their toleration of the unreachable node has ended. Always fences for any pod. "
            "Pods of DaemonSets and static pods never count.",
            enum=[PODS_WAIT, ALWAYS],
            default=PODS_WAIT,
        ),
    ] = PODS_WAIT
    min_pod_priority: Annotated[
        Int32 | None,
        described("Only pods of at least this priority are a reason to fence their node."),
    ] = None
    min_healthy: Annotated[
        Int32 | str,
        described(
            "How many of the other nodes must be ready and must be seen to report: a number, or a "
            "percentage, rounded up.",
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
            "How many nodes may be out of service or be fenced at the same time, by anybody.",
            minimum=1,
            maximum=1000,
            default=1,
        ),
    ] = 1
    approval: Annotated[
        str,
        described(
            "Manual waits for a person before each fence: vacate fence NODE --approve.",
            enum=[AUTOMATIC, MANUAL],
            default=AUTOMATIC,
        ),
    ] = AUTOMATIC
    power_on: Annotated[
        str,
        described(
            "Automatic switches a machine on again once the node's pods are released; Manual leaves that to "
            "people. Either way the node takes pods again only when it is on and reports. With the mechanism "
            "Storage the same holds for giving the storage back, which waits for a restart of the machine.",
            enum=[AUTOMATIC, MANUAL],
            default=MANUAL,
        ),
    ] = MANUAL
    agent: Annotated[AgentSpec, described("What switches the machines.", required=True)] = msgspec.field(
        default_factory=AgentSpec
    )


class NodeFencing(Projection, frozen=True):
    """What is known and was decided about one unreachable node."""

    name: Annotated[str, described("The node.", required=True, maxLength=253)] = ""
    uid: Annotated[
        str, described("The node's UID: a new node of the name is another node.", maxLength=253)
    ] = ""
    phase: Annotated[str, described("How far it has come.", required=True, enum=list(PHASES))] = ""
    since: Annotated[dt.datetime | None, described("Since when the node is unreachable.")] = None
    pods_waiting: Annotated[Int32, described("Pods that wait to be released, and are a reason to fence.")] = 0
    start_time: Annotated[
        dt.datetime | None, described("When the fence was decided: written before the agent is called.")
    ] = None
    latest_loss: Annotated[
        dt.datetime | None,
        described(
            "When the last node was lost before the fence was decided, by the clock that dates conditions of "
            "nodes. One that is lost later may be the machine that the agent switched off."
        ),
    ] = None
    last_report: Annotated[
        str,
        described("The renewal of the node's Lease on which the decision was made.", maxLength=64),
    ] = ""
    attempts: Annotated[Int32, described("How often the fence was tried.")] = 0
    retry_time: Annotated[dt.datetime | None, described("When it is tried again.")] = None
    power: Annotated[
        str,
        described("What the agent said last about the machine.", enum=["", "on", "off", "unknown"]),
    ] = ""
    holder: Annotated[
        str, described("The process that carries it out; others leave the node alone.", maxLength=253)
    ] = ""
    hold_time: Annotated[
        dt.datetime | None, described("Until when the holder is left alone; afterwards others may go on.")
    ] = None
    message: Annotated[str, described("The state in a sentence.", maxLength=MAX_MESSAGE)] = ""

    def __post_init__(self) -> None:
        check_times(self.since, self.start_time, self.latest_loss, self.retry_time, self.hold_time)

    @property
    def under_way(self) -> bool:
        """Whether something was decided about the node."""
        return self.phase in UNDER_WAY


class FencingPolicyStatus(Projection, frozen=True):
    """What the controller knows and has decided. Written by the controller."""

    observed_generation: Annotated[
        Int64, described("The generation of the spec that the status describes.")
    ] = 0
    # Zeros are not written; with a default in the schema `kubectl get` shows 0 and no blank.
    nodes_unreachable: Annotated[
        Int32, described("Nodes of the policy that are unreachable or fenced.", default=0)
    ] = 0
    nodes_fenced: Annotated[Int32, described("Nodes that are fenced.", default=0)] = 0
    message: Annotated[str, described("The state in a sentence.", maxLength=MAX_MESSAGE)] = ""
    nodes: Annotated[
        list[NodeFencing],
        described(
            "Each node that is unreachable or fenced.",
            maxItems=MAX_ROWS,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    ] = msgspec.field(default_factory=list)
    conditions: Annotated[
        list[RequestCondition],
        described(
            "Fencing, and Failing: a fence failed or is unclear, and nothing was released.",
            maxItems=MAX_CONDITIONS,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = msgspec.field(default_factory=list)


class FencingPolicy(Projection, frozen=True):
    """Switches unreachable nodes off, confirms it, and only then releases their pods."""

    metadata: Annotated[ObjectMeta, described("")] = msgspec.field(default_factory=ObjectMeta)
    spec: Annotated[FencingPolicySpec, described("What is wanted.", required=True)] = msgspec.field(
        default_factory=FencingPolicySpec
    )
    status: Annotated[FencingPolicyStatus, described("What is known and was decided.")] = msgspec.field(
        default_factory=FencingPolicyStatus
    )
