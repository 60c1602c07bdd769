"""The kinds: names, typed projections, codec, labels, times and the schema table."""
