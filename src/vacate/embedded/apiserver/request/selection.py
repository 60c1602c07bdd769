"""Label and field selectors of a query, read and checked as Kubernetes checks them."""

from __future__ import annotations

from dataclasses import dataclass

from vacate import errors
from vacate.api.kinds import Kind
from vacate.api.selectors.fields import FieldSelector, parse_field_selector
from vacate.api.selectors.labels import Selector, parse_selector
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.limits import MAX_REQUIREMENTS, MAX_SELECTOR_CHARACTERS
from vacate.embedded.apiserver.selectableattributes import selectable
from vacate.embedded.store.types import Attributes


@dataclass(frozen=True, slots=True)
class Selection:
    """The selectors of list, watch and deletecollection, parsed."""

    labels: Selector
    fields: FieldSelector
    everything: bool = True  # no selector narrows the list

    def selects(self, attributes: Attributes) -> bool:
        """Whether an object with these labels and fields is asked for."""
        return self.everything or (
            self.labels.matches(attributes.labels) and self.fields.matches(attributes.fields)
        )


def read_selection(call: Call) -> Selection:
    """The selectors of the query; BadRequest for those that cannot be read."""
    query = call.request.query
    everything = not query.get("labelSelector") and not query.get("fieldSelector")
    return Selection(*_selectors(call), everything)


def _selectors(call: Call) -> tuple[Selector, FieldSelector]:
    texts = [call.request.query.get(name, "") for name in ("labelSelector", "fieldSelector")]
    if max(map(len, texts)) > MAX_SELECTOR_CHARACTERS:
        raise errors.BadRequest(f"a selector may have at most {MAX_SELECTOR_CHARACTERS} characters")
    try:
        labels = parse_selector(texts[0])
    except ValueError as error:
        raise errors.BadRequest(f"unable to parse requirement: {error}") from None
    try:
        fields = parse_field_selector(texts[1])
    except ValueError as error:
        raise errors.BadRequest(str(error)) from None
    if max(len(labels.requirements), len(fields.requirements)) > MAX_REQUIREMENTS:
        raise errors.BadRequest(
            f"a selector may have at most {MAX_REQUIREMENTS} requirements; ask several times"
        )
    _check_fields(call.kind, fields)
    return labels, fields


def _check_fields(kind: Kind, fields: FieldSelector) -> None:
    """Refuse a field that cannot be selected by."""
    known = selectable(kind)
    for requirement in fields.requirements:
        if requirement.field in known:
            continue
        if kind.selectable_fields or kind.custom:
            raise errors.BadRequest(f"field label not supported: {requirement.field}")
        named = 'only "metadata.name", "metadata.namespace"'
        raise errors.BadRequest(f'"{requirement.field}" is not a known field selector: {named}')
