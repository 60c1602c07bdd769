"""Events about the containers of a pod, which stand on the pod."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import PODS
from vacate.nodeagent.podworker import PodWorker
from vacate.runtime.events import Recorder


class ContainerEvents:
    """Records them. Of a pod that is known from the runtime's record only, nothing is recorded."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def normal(self, held: PodWorker, reason: str, message: str) -> None:
        """As expected."""
        self._record(held, NORMAL, reason, message)

    def warning(self, held: PodWorker, reason: str, message: str) -> None:
        """Something for a person to look at."""
        self._record(held, WARNING, reason, message)

    def _record(self, held: PodWorker, type_: str, reason: str, message: str) -> None:
        if held.pod is not None:
            self._recorder.record(EventNote(regarding(PODS, held.pod), type_, reason, message))
