"""PodTemplates: a template that is stored by itself, for those who make pods of it."""

from __future__ import annotations

from vacate.admission.checks import same
from vacate.admission.context import Context
from vacate.admission.pods.interceptors import tolerating
from vacate.admission.strategy import KindStrategy, count_generation
from vacate.api.fielderrors import FieldError
from vacate.api.objects import Obj
from vacate.api.untyped import mapping
from vacate.embedded.registry.apps import podtemplate


class PodTemplateStrategy(KindStrategy):
    """Answers for PodTemplates."""

    counts_generations = True

    def default(self, obj: Obj, ctx: Context) -> None:
        """The defaults of the pods to come."""
        podtemplate.default_template(obj, self.kind)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Fields of pods whose gate is off."""
        podtemplate.drop_gated_fields(obj, None, ctx)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """A new template is a new generation."""
        podtemplate.drop_gated_fields(new, old, ctx)
        count_generation(new, old, not same(new.get("template"), old.get("template")))

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The template."""
        return podtemplate.content_errors(mapping(obj.get("template")), ctx, "template")

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The template again."""
        return step + self.field_errors(
            new, tolerating(ctx, mapping(mapping(old.get("template")).get("spec")))
        )
