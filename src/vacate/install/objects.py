"""Every object of an installation, in the order in which they are applied."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.install.settings import Settings


def objects(settings: Settings | None = None) -> list[Obj]:
    """All objects: first what others need, last the webhook configurations, which need the webhook."""
    settings = settings or Settings()
    return [one for part in parts(settings).values() for one in part]


def parts(settings: Settings) -> dict[str, list[Obj]]:
    """The same by what they are for. The names are those of the files in which they are kept."""
    from vacate.install.definition import definition
    from vacate.install.policies import policies
    from vacate.install.webhooks import webhook_configurations

    return {
        "definition": [definition(settings.allowed_interceptors)] if settings.definitions else [],
        "policies": policies(),
        "webhooks": webhook_configurations(settings),
    }
