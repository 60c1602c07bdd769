"""PURE. The eviction process, free of any API's shape: whose turn it is, since when, until when, what next.

`model` has the values, `engine` the one decision, `deadlines` the heartbeat deadlines, `attempts` refusals
and backoff, `retryorder` which request goes first when a budget allows again. Requests are
records of one shape (`records`), which all APIs share. Dialects
(`vacate.eviction.dialects`) translate an API's objects into records, and their changes back into patches.
"""
