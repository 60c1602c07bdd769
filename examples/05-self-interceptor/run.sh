#!/bin/sh
# Walks through the example against the cluster that KUBECONFIG names. See README.md beside this file.
set -eu
cd "$(dirname "$0")"

kubectl create namespace vacate-example-05
trap 'kubectl delete namespace vacate-example-05 --wait=false' EXIT
in_example() { kubectl --namespace vacate-example-05 "$@"; }

in_example apply -f pod.yaml
in_example wait --for=condition=Ready pod/worker --timeout=60s

# Simulated nodes run no containers: the program of the pod runs here, with what it would find in its environment.
POD_UID=$(in_example get pod worker -o jsonpath='{.metadata.uid}') POD_NAMESPACE=vacate-example-05 \
    python worker.py &
worker=$!
python ../01-plain-eviction/evict.py worker vacate-example-05
kill "$worker"  # what a node does when the pod's grace begins
wait "$worker"
