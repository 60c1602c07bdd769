"""`vacate plan`."""
