"""PURE. What people see: explanations, status rows and progress, for every surface alike."""
