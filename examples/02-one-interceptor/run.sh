#!/bin/sh
# Walks through the example against the cluster that KUBECONFIG names. See README.md beside this file.
set -eu
cd "$(dirname "$0")"

kubectl create namespace vacate-example-02
in_example() { kubectl --namespace vacate-example-02 "$@"; }

python interceptor.py &
interceptor=$!
trap 'kill $interceptor; kubectl delete namespace vacate-example-02 --wait=false' EXIT
in_example apply -f pod.yaml
in_example wait --for=condition=Ready pod/db --timeout=60s
python ../01-plain-eviction/evict.py db vacate-example-02
in_example get pods
