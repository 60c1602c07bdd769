"""Every way in which a drain can be held: the cause appears, is reported, goes away, and the drain ends.

`table` has the cases and the one body that runs them; `simulated` and `live` are the places they run in.
"""
