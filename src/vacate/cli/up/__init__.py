"""`vacate up`."""
