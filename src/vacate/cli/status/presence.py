"""Whether the pods that were named are there, and what their requests do not say about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vacate.api.kinds import PODS
from vacate.api.options import ListOptions
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer
from vacate.cli.common.connection import Cluster
from vacate.cli.status.view import View
from vacate.client.codec import codec_for
from vacate.errors import Forbidden, NotFound, UnreadableObject
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.runtime.dependencies import InformerFactory
from vacate.views.progress import left_over_text
from vacate.views.statusrows import pod_of


class MeantPods:
    """Which pods are meant: those that are named, or have the labels.

    Evictions of lifecycle.k8s.io do not have the labels of their pods: there, the pods are followed.
    """

    def __init__(self, informers: InformerFactory, view: View) -> None:
        self._names, self._namespace = view.pods, view.namespace
        self._uids: set[str] | None = None  # of pods that were seen with the labels
        self.request_labels = view.selector
        """By which labels requests are selected."""
        if view.selector and view.dialect is LIFECYCLE:
            self.request_labels, self._uids = "", set()
            pods = informers.informer(PODS, Pod, namespace=view.namespace, label_selector=view.selector)
            pods.subscribe(self._see)

    async def check(self, cluster: Cluster) -> None:
        """Forbidden where the pods have to be read and the user may not."""
        if self._uids is not None:
            await cluster.client.list(PODS, self._namespace, ListOptions(limit=1))

    def _see(self, _old: Pod | None, new: Pod | None) -> None:
        if new is not None and self._uids is not None:
            self._uids.add(new.metadata.uid)

    def includes(self, name: str, uid: str) -> bool:
        """Whether the pod is meant."""
        return (not self._names or name in self._names) and (self._uids is None or uid in self._uids)


class NamedPods:
    """Follows the named pods by their names, so that a watch ends when there is nothing to wait for."""

    def __init__(self, informers: InformerFactory, view: View) -> None:
        self._informers, self._view = informers, view
        self._pods: dict[str, Informer[Pod]] = {}

    async def follow(self, cluster: Cluster, changed: Callable[[], None]) -> None:
        """Make an informer for each; none for a user who may not read pods and has to wait for requests."""
        for name in self._view.pods:
            selector = f"metadata.name={name}"
            try:
                await cluster.client.list(
                    PODS, self._view.namespace, ListOptions(field_selector=selector, limit=1)
                )
            except Forbidden:
                return
            informer = self._informers.informer(
                PODS, Pod, namespace=self._view.namespace, field_selector=selector
            )
            informer.subscribe(lambda _old, _new: changed())
            self._pods[name] = informer

    def absent(self, name: str) -> bool:
        """Whether no pod of that name is there, as far as that is known."""
        reader = self._pods[name].reader if name in self._pods else None
        if reader is None or not reader.synced:
            return False
        return not reader.list() and not reader.list_unreadable()

    def is_over(self, name: str, request_over: bool | None) -> bool:
        """Whether a watch may end: as its request says, or, where there is none, by the pod's absence."""
        return self.absent(name) if request_over is None else request_over


def nothing_to_follow(name: str, view: View) -> str:
    """The sentence for a named pod that has neither an object nor a request."""
    text = f"No pod {name} and no eviction request for it{view.where}: there is nothing to follow."
    return view.dialect.phrase(text)


async def left_over(cluster: Cluster, requests: Sequence[EvictionRequest]) -> list[str]:
    """What keeps the pods of complete requests in the cluster; empty for those that are gone."""
    notes = [await _left_over(cluster, one) for one in requests if one.complete]
    return [note for note in notes if note]


async def _left_over(cluster: Cluster, request: EvictionRequest) -> str:
    try:
        found = await cluster.client.get(PODS, pod_of(request), request.metadata.namespace)
        return left_over_text(request, codec_for(Pod).convert(found))
    except (NotFound, Forbidden, UnreadableObject):
        return ""
