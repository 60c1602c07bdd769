"""Events go an hour after they were last seen."""
