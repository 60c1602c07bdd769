"""The fencing controller with the agents that its policies describe."""

from __future__ import annotations

from vacate.api.kinds import JOBS
from vacate.api.policyrules import CORE, Rule, rule
from vacate.controllers.fencing.controller import build as build_controller
from vacate.fenceagents.configured import ConfiguredAgents
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies

FENCING_JOB_RULES: tuple[Rule, ...] = (
    rule("get", CORE, "podtemplates"),
    rule("get list watch create delete", JOBS.group, JOBS.plural),
)
"""What Jobs as fence agents need, in the namespace of their PodTemplates and nowhere else."""


def build(deps: Dependencies) -> Controller:
    """The controller: agents run beside it, with credentials that are read from Secrets."""
    agents = ConfiguredAgents(
        deps.client, deps.clock, deps.entropy, deps.fencing_job_namespace, deps.fencing_addresses
    )
    return build_controller(deps, agents)
