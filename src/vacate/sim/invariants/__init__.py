"""Invariants of evictions: every revision of every EvictionRequest, checked afterwards against the rules."""
