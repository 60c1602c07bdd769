"""The interceptor `replicaset.apps.k8s.io`: removes exactly the pods whose replacements are available."""
