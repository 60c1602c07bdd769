"""Pure decisions: given objects and now, what next? One module a question; no I/O, clock or randomness."""
