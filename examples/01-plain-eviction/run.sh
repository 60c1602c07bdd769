#!/bin/sh
# Walks through the example against the cluster that KUBECONFIG names. See README.md beside this file.
set -eu
cd "$(dirname "$0")"

kubectl create namespace vacate-example-01
trap 'kubectl delete namespace vacate-example-01 --wait=false' EXIT
in_example() { kubectl --namespace vacate-example-01 "$@"; }

in_example apply -f pod.yaml
in_example wait --for=condition=Ready pod/web --timeout=60s
python evict.py web vacate-example-01
in_example get pods
