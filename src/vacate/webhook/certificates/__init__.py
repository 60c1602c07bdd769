"""The certificates of the webhook: kept, read and renewed."""
