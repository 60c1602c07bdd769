"""One body of eviction tests on embedded and real clusters."""
