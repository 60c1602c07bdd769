"""PURE. What users see: explanations, status rows and progress, for every surface alike."""
