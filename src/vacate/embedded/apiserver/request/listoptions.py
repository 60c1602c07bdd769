"""Options of list and watch, read from the query and checked as Kubernetes checks them."""

from __future__ import annotations

from vacate import errors
from vacate.api import fielderrors as f
from vacate.api import status
from vacate.api.options import ListOptions, WatchOptions
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.integers import parse_int64
from vacate.embedded.apiserver.request.selection import Selection, read_selection
from vacate.wire.message import Query


def read_list_options(call: Call) -> tuple[ListOptions, Selection]:
    """Read the query; BadRequest for what cannot be read, Invalid for what does not fit together."""
    query = call.request.query
    limit = max(_number(query, "limit"), 0)
    _number(query, "timeoutSeconds")  # without meaning for a list, but refused where it is no number
    selection = read_selection(call)
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
    selection = read_selection(call)
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
