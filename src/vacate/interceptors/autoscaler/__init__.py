"""The interceptor `horizontalpodautoscaler.autoscaling.k8s.io`: replacements by way of `minReplicas`."""
