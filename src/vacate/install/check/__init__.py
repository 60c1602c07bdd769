"""Whether an installation works: what `vacate check` reads, and what it finds."""
