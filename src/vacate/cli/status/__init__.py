"""`vacate status`."""
