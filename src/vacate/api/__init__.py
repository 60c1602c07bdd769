"""The words of the API: kinds, typed projections, names, selectors, quantities, times, identities, Events."""
