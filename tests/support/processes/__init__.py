"""Commands of Vacate, and what they need, as processes."""
