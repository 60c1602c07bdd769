"""PURE. The eviction process, free of any API's shape: whose turn it is, since when, until when, what next.

`model` has the values, `engine` the one decision, `deadlines` the heartbeat deadlines, `attempts` refusals
and backoff, `retryorder` which request goes first when a budget allows again. Dialects
(`vacate.eviction.dialects`) translate an API's objects into these values and decisions back into patches.
"""
