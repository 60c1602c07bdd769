"""Label selectors in the specifications of Vacate's own kinds."""

from __future__ import annotations

from typing import Annotated

import msgspec

from vacate.api.types.evictionrequest import described
from vacate.api.types.meta import Projection

_LABEL_VALUE = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
_LABEL_KEY = (
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"
)
_LabelValue = Annotated[str, described("", maxLength=63, pattern=_LABEL_VALUE)]


class SelectorRequirement(Projection, frozen=True):
    """One requirement of a label selector."""

    key: Annotated[
        str, described("Key of the label.", required=True, minLength=1, maxLength=317, pattern=_LABEL_KEY)
    ] = ""
    operator: Annotated[
        str,
        described(
            "How the label is compared with the values.",
            required=True,
            enum=["In", "NotIn", "Exists", "DoesNotExist"],
        ),
    ] = ""
    values: Annotated[
        list[_LabelValue],
        described("Values for In and NotIn. Must be empty for Exists and DoesNotExist.", maxItems=100),
    ] = msgspec.field(default_factory=list)


class LabelSelectorSpec(Projection, frozen=True):
    """A label selector. All requirements must be met."""

    match_labels: Annotated[
        dict[str, _LabelValue], described("Labels and the values that they must have.", maxProperties=32)
    ] = msgspec.field(default_factory=dict)
    match_expressions: Annotated[
        list[SelectorRequirement], described("Further requirements on labels.", maxItems=32)
    ] = msgspec.field(default_factory=list)
