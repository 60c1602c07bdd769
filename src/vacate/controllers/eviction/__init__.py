"""Brings eviction requests to their end: one interceptor after the other, then the eviction API.

`controller` reconciles, `evicting` asks for the eviction and takes the answer, `memory` holds what the API
does not, `waking` lets requests try at once when a budget opens, `metrics`
shows every open request, `events` records Events.
"""
