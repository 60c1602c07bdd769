"""For programs that request evictions."""
