"""Names of the hooks interceptor, and of what pods and CronJobs say to it."""

from __future__ import annotations

HOOKS_INTERCEPTOR = "hooks.vacate.dev"

TARGET = "vacate.dev/eviction-hook"
"""Annotation of a pod: the target of the allow-list that is called, `TARGET` or `TARGET/PATH`."""
JOB = "vacate.dev/eviction-hook-job"
"""Annotation of a pod: the CronJob of its namespace from whose template a Job is made."""
TIMEOUT = "vacate.dev/eviction-hook-timeout"
"""Annotation of a pod: how long the hook may take, such as `5m`."""
ON_FAILURE = "vacate.dev/eviction-hook-on-failure"
"""Annotation of a pod: `HandOver`, the default, or `Hold`."""

TEMPLATE = "vacate.dev/eviction-hook-template"
"""Label of a CronJob, with the value `true`: pods of its namespace may name it as their hook."""
JOB_REQUEST = "vacate.dev/eviction-hook-request"
"""Label of a Job: the UID of the request that it was made for."""
JOB_SOURCE = "vacate.dev/eviction-hook-request-name"
"""Annotation of a Job: singular name of the kind, and name, of that request, as `evictionrequest/NAME`."""
JOB_POD = "vacate.dev/eviction-hook-pod"
"""Annotation of a Job: the name of the pod."""
