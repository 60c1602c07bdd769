"""The eviction bridge's controller: withdraws the requesters of callers that stopped asking.

`withdrawals` decides, `controller` reads the record in a request and writes it.
"""
