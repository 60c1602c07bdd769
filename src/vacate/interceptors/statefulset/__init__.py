"""The interceptor `statefulset.apps.k8s.io`: in order, and only while all others are up."""
