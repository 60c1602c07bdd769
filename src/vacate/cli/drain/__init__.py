"""`vacate drain`."""
