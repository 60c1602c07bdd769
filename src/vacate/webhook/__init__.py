"""Admission on a stock cluster: the strategies of the embedded server behind the webhooks of any other.

admissionreview   an AdmissionReview in, a verdict out
paths             which path has which review; pure, as all that it calls
lookups           what a strategy must know of the cluster
reviewer          looks that up through the API server, and nowhere else
reviewcache       what the mutating side has just allowed
evictionbridge    direct evictions of pods that have interceptors
bridgeanswers     what their callers hear
handler           HTTP
certificates/     the served certificate, and its rotation by a process of its own
"""
