"""Judges of how pods left: every revision of every EvictionRequest, read afterwards against the rules."""
