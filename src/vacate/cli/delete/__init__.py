"""`vacate delete`."""
