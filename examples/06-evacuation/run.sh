#!/bin/sh
# Walks through the example against the cluster that KUBECONFIG names. See README.md beside this file.
set -eu
cd "$(dirname "$0")"

kubectl create namespace vacate-example-06
in_example() { kubectl --namespace vacate-example-06 "$@"; }

in_example apply -f pod.yaml
in_example wait --for=condition=Ready pod/orders --timeout=60s
python evacuators.py &
evacuators=$!
trap 'kill $evacuators; kubectl delete namespace vacate-example-06 --wait=false' EXIT
python instigate.py orders vacate-example-06
in_example wait --for=delete evacuations --all --timeout=60s
in_example get evacuations
