"""Volumes of pods: what is in them, and how they come to lie on the disk."""
