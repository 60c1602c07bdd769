"""`vacate demo`."""
