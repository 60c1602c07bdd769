"""Admission on a stock cluster: the strategies of the embedded server behind the webhooks of any other.

review    an AdmissionReview in, a verdict out
judge     which path asks what; pure, as all that it calls
asking    what a strategy must know of the cluster, asked there and nowhere else
service   the HTTP face
files     the certificate that is served, read from a folder
papers    certificates as values; `keeper`, in a process of its own, keeps them in a Secret
"""
