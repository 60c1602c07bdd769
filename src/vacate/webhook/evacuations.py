"""Reviews of Evacuations: what instigators and the pod say about evacuators is merged, as often as asked."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, forbidden
from vacate.api.kinds import EVACUATIONS
from vacate.api.objects import Obj
from vacate.api.types.evacuation import Evacuation, EvacuationStatus
from vacate.api.untyped import mapping
from vacate.crds.evacuation import EVACUATION
from vacate.crds.evacuation.spec import merged_evacuators
from vacate.crds.evacuation.strategy import EvacuationStrategy, registration_of
from vacate.crds.evictionrequest.target import live_pod
from vacate.eviction.dialects.evacuation.translation import record_object
from vacate.webhook.requestreviews import RequestReviews


class EvacuationReviews(RequestReviews):
    """Those of Evacuations."""

    def record(self, obj: Obj) -> Obj:
        """The object in the shape of an EvictionRequest."""
        return record_object(obj)

    def made_before(self, given: Obj, ctx: Context) -> Obj | None:
        """Never needed: merging once more changes nothing."""
        return None

    def changed_since(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Evacuators that are not those of the pod, or in another order."""
        expected = merged_evacuators(obj, registration_of(live_pod(record_object(obj), ctx), ctx))
        if (mapping(obj.get("spec")).get("evacuators") or []) == expected:
            return []
        return [forbidden("spec.evacuators", "must not change: those of the pod were filled in")]


EVACUATION_REVIEWS = EvacuationReviews(
    EVACUATIONS, EvacuationStrategy(EVACUATION), Evacuation, EvacuationStatus
)
