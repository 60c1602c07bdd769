"""Deletes pods that do not tolerate a NoExecute taint."""
