"""`vacate web`."""
