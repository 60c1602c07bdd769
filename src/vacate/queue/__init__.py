"""The work queue in three thin layers: deduplication, delays, rate limits."""
