"""Everything that a cluster needs to run Vacate, rendered from one `Settings`, and put there or taken away.

    objects(Settings())     every object, in the order in which they are applied

Rendering is pure: the same settings give the same objects. `vacate install`, the kustomize base and the Helm
chart are all made from it.
"""

from __future__ import annotations

from vacate.install.objects import objects
from vacate.install.settings import Certificates, Monitoring, Settings

__all__ = ["Certificates", "Monitoring", "Settings", "objects"]
