"""`vacate node`."""
