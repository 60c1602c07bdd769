"""ServiceAccounts: of the secrets that one names, only the names are kept."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, sequence


class ServiceAccountStrategy(KindStrategy):
    """Answers for ServiceAccounts."""

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Clean the references to secrets."""
        _clean(obj)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Clean the references to secrets."""
        _clean(new)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """Metadata once more."""
        return step + self.metadata_errors(new)


def _clean(account: Obj) -> None:
    if secrets := sequence(account.get("secrets")):
        account["secrets"] = [{"name": secret.get("name", "")} for secret in map(mapping, secrets)]
