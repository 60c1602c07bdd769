"""PURE. The eviction process, free of any API's shape: whose turn it is, since when, until when, what next.

`model` has the values, `engine` the one decision, `silence` the deadlines, `attempts` refusals and backoff,
`waking` who goes first when a budget opens. Dialects (`vacate.eviction.dialects`) translate an API's objects
into these values and decisions back into patches.
"""
