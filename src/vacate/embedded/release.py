"""The release of Kubernetes whose behaviour the embedded cluster serves."""

KUBERNETES = "v1.37.1"
"""As nodes, discovery and OpenAPI name it; `hack/kube` pins the same release for the tests."""
