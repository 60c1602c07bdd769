"""The safety rules, each with a patch that takes it out, and a search for seeds that find it missing."""
