"""The descheduling controller: requests the eviction of pods that violate the rules of a policy."""
