"""The sections of an explanation, one for each stage."""
