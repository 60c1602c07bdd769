"""Keeps the status of pod disruption budgets, and takes back marks of disruptions that did not happen."""
