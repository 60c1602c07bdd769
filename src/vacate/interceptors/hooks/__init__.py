"""The interceptor `hooks.vacate.dev`: calls an HTTP service, or runs a Job, before a pod is evicted."""
