"""Removes pods that no node will ever remove."""
