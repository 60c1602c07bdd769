"""Pods and pod templates: defaults, admission, validation, and what may change afterwards."""
