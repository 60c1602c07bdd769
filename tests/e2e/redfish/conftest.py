"""A real fence agent and a Redfish service. They exist only where `make test-fence` has obtained them."""

from __future__ import annotations

import os

from hack.fencelab.session import LAB

if not os.environ.get(LAB):
    collect_ignore_glob = ["test_*.py"]
