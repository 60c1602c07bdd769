"""Scales workloads between the bounds of their HorizontalPodAutoscalers."""
