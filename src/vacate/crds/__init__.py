"""PURE. The kinds of Vacate's own: one declaration each.

A declaration names the kind, its struct, its printer columns, its rules (in CEL for the CRD, and as a
function for the embedded server) and the strategy that admits its objects. From it come the CRD
(`vacate.crds.definition`), the registration on the embedded server and the reference page.
`catalogue` lists them all.
"""
