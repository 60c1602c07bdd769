"""Options of list and watch, read from the query and checked as Kubernetes checks them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from vacate import errors
from vacate.api import fielderrors as f
from vacate.api import status
from vacate.api.kinds import Kind
from vacate.api.options import ListOptions, WatchOptions
from vacate.api.selectors.fields import FieldSelector, parse_field_selector
from vacate.api.selectors.labels import Selector, parse_selector
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.limits import MAX_REQUIREMENTS, MAX_SELECTOR_CHARACTERS
from vacate.embedded.apiserver.request.integers import parse_int64
from vacate.embedded.apiserver.selectableattributes import selectable
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.store.types import Attributes
from vacate.wire.message import Query

_FRESH_SECONDS = 3.0


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


def read_list_options(call: Call) -> tuple[ListOptions, Selection]:
    """Read the query; BadRequest for what cannot be read, Invalid for what does not fit together."""
    query = call.request.query
    limit = max(_number(query, "limit"), 0)
    _number(query, "timeoutSeconds")  # without meaning for a list, but refused where it is no number
    selection = _selection(call)
    options = ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        limit=limit,
        continue_token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
    )
    _refuse_if_any(_list_errors(options, query))
    return options, selection


def read_watch_options(call: Call) -> tuple[WatchOptions, Selection]:
    """As for `read_list_options`."""
    query = call.request.query
    _number(query, "limit")  # without meaning for a watch, but refused where it is no number
    timeout_seconds = _number(query, "timeoutSeconds")
    selection = _selection(call)
    _refuse_if_any(_watch_errors(query))
    options = WatchOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        resource_version=query.get("resourceVersion", ""),
        timeout_seconds=timeout_seconds,
        send_initial_events=_boolean(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
        allow_bookmarks=_boolean(query, "allowWatchBookmarks"),
    )
    return options, selection


def _selection(call: Call) -> Selection:
    query = call.request.query
    everything = not query.get("labelSelector") and not query.get("fieldSelector")
    return Selection(*selectors(call), everything)


def selectors(call: Call) -> tuple[Selector, FieldSelector]:
    """The label and field selectors of the query."""
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
    check_fields(call.kind, fields)
    return labels, fields


def check_fields(kind: Kind, fields: FieldSelector) -> None:
    """Refuse a field that cannot be selected by."""
    known = selectable(kind)
    for requirement in fields.requirements:
        if requirement.field in known:
            continue
        if kind.selectable_fields or kind.custom:
            raise errors.BadRequest(f"field label not supported: {requirement.field}")
        named = 'only "metadata.name", "metadata.namespace"'
        raise errors.BadRequest(f'"{requirement.field}" is not a known field selector: {named}')


def parse_revision(text: str) -> int:
    """A resourceVersion as a number, or BadRequest."""
    field_error = _revision_error(text)
    if field_error is not None:
        raise errors.BadRequest(f"invalid resource version: {field_error}")
    return int(text)


def check_stored_revision(text: str) -> None:
    """As for lists, except that gets and watches are refused in the storage's own words."""
    field_error = _revision_error(text) if text else None
    if field_error is not None:
        raise errors.ApiError(str(field_error), reason="", code=500)


def _revision_error(text: str) -> f.FieldError | None:
    if text.isascii() and text.isdigit() and len(text) <= 19:
        return None
    shown = text[:64]
    return f.invalid("resourceVersion", shown, f'strconv.ParseUint: parsing "{shown}": invalid syntax')


async def wait_until_fresh(registry: Storage, resource_version: str) -> None:
    """Wait a little for a revision that has not come yet; Timeout, to be tried again, where it does not."""
    wanted = parse_revision(resource_version)
    if wanted <= registry.store.revision:
        return
    try:
        async with asyncio.timeout(_FRESH_SECONDS):
            await registry.store.wait_for(wanted)
    except TimeoutError:
        current = registry.store.revision
        raise errors.Timeout(
            f"Timeout: Too large resource version: {wanted}, current: {current}",
            details={
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        ) from None


def _list_errors(options: ListOptions, query: Query) -> list[f.FieldError]:
    field_errors = []
    match = options.resource_version_match
    if match:
        if not options.resource_version:
            field_errors.append(
                _match("resourceVersionMatch is forbidden unless resourceVersion is provided")
            )
        if options.continue_token:
            field_errors.append(_match("resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            known = ("Exact", "NotOlderThan", "")
            field_errors.append(f.not_supported("resourceVersionMatch", match, known))
        if match == "Exact" and options.resource_version == "0":
            field_errors.append(_match('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        field_errors.append(f.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return field_errors


def _watch_errors(query: Query) -> list[f.FieldError]:
    field_errors = []
    asked, match = "sendInitialEvents" in query, query.get("resourceVersionMatch", "")
    if asked and match != "NotOlderThan":
        field_errors.append(_match("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if not asked:
            field_errors.append(
                _match("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != "NotOlderThan":
            field_errors.append(f.not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
        if query.get("continue", ""):
            field_errors.append(_match("resourceVersionMatch is forbidden when continue is provided"))
    return field_errors


def _match(detail: str) -> f.FieldError:
    return f.forbidden("resourceVersionMatch", detail)


def _refuse_if_any(field_errors: list[f.FieldError]) -> None:
    if field_errors:
        raise status.invalid_as("meta.k8s.io", "ListOptions", "", field_errors)


def _number(query: Query, name: str) -> int:
    text = query.get(name)
    if text is None:
        return 0
    try:
        return parse_int64(text)
    except ValueError as error:
        raise errors.BadRequest(str(error)) from None


def _boolean(query: Query, name: str) -> bool:
    """Everything is true that does not say otherwise."""
    return query.get(name, "false").lower() not in ("false", "0")
