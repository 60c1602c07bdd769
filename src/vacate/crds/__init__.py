"""PURE. The kinds of Vacate's own: one declaration each.

A declaration, in the folder of the kind, names the kind, its struct, its printer columns, its rules (in CEL
for the CRD, and as a function for the embedded server) and the strategy that admits its objects.
`catalogue` lists them all, and says what comes from them.
"""
