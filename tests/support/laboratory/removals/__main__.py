"""`python -m support.laboratory.removals`."""

from __future__ import annotations

import sys

from support.laboratory.removals.search import main

if __name__ == "__main__":
    sys.exit(main())
