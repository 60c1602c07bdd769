"""`vacate cancel`."""
