"""Which forms of patches a kind takes."""

from __future__ import annotations

from vacate.api.kinds import Kind
from vacate.embedded.apiserver.patch import JSON_PATCH, MERGE_PATCH, check_form
from vacate.errors import UnsupportedMedia

_FOR_CUSTOM = (JSON_PATCH, MERGE_PATCH)
# Kubernetes names it among those that it accepts; applying on the server's side is not offered here.
_APPLY = "application/apply-patch+yaml"


def check_form_for(kind: Kind, form: str) -> None:
    """Refuse what is no form of patches, or, as for custom resources, one that needs a type to merge by."""
    if not kind.custom:
        check_form(form)
    elif form not in _FOR_CUSTOM:
        known = ", ".join((*_FOR_CUSTOM, _APPLY))
        raise UnsupportedMedia(
            f"the body of the request was in an unknown format - accepted media types include: {known}"
        )
