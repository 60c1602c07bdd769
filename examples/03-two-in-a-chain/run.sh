#!/bin/sh
# Walks through the example against the cluster that KUBECONFIG names. See README.md beside this file.
set -eu
cd "$(dirname "$0")"

kubectl create namespace vacate-example-03
in_example() { kubectl --namespace vacate-example-03 "$@"; }

python interceptors.py &
interceptors=$!
trap 'kill $interceptors; kubectl delete namespace vacate-example-03 --wait=false' EXIT
in_example apply -f pod.yaml
in_example wait --for=condition=Ready pod/shop --timeout=60s
python ../01-plain-eviction/evict.py shop vacate-example-03
in_example get events -o custom-columns=REASON:.reason,MESSAGE:.message
