"""The interceptor `deployment.apps.k8s.io`: a pod's replacement is available before the pod goes."""
