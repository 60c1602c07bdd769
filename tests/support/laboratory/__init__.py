"""The fault laboratory: the whole system in virtual time under random combinations of faults."""
