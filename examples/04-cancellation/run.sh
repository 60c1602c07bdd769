#!/bin/sh
# Walks through the example against the cluster that KUBECONFIG names. See README.md beside this file.
set -eu
cd "$(dirname "$0")"

kubectl create namespace vacate-example-04
in_example() { kubectl --namespace vacate-example-04 "$@"; }

python interceptors.py &
interceptors=$!
trap 'kill $interceptors; kubectl delete namespace vacate-example-04 --wait=false' EXIT
in_example apply -f pods.yaml
in_example wait --for=condition=Ready pod/chat pod/ledger --timeout=60s
python change_minds.py vacate-example-04
in_example get pods
