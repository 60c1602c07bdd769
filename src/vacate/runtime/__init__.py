"""The reconcile contract, what its outcomes mean, the manager, leases and events."""
