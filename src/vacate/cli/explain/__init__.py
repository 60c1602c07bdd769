"""`vacate explain`."""
