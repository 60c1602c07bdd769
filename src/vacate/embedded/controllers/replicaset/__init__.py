"""Keeps the wanted number of pods of one template."""
