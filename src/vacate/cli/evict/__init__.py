"""`vacate evict`."""
