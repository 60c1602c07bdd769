"""Notices silent nodes, marks them and their pods, and moves pods away from nodes that drive them out."""
