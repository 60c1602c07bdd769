#!/bin/sh
# Walks through the example against the cluster that KUBECONFIG names. See README.md beside this file.
set -eu
cd "$(dirname "$0")"

kubectl create namespace vacate-example-07
in_example() { kubectl --namespace vacate-example-07 "$@"; }

folder=$(mktemp -d)
python service.py "$folder/hooks.yaml" &
service=$!
hooks=
trap 'kill $service $hooks; rm -r "$folder"; kubectl delete namespace vacate-example-07 --wait=false' EXIT
until [ -e "$folder/hooks.yaml" ]; do sleep 0.1; done
python -m vacate hooks --config "$folder/hooks.yaml" --no-leader-elect --metrics-port 0 >/dev/null &
hooks=$!
in_example apply -f pod.yaml
in_example wait --for=condition=Ready pod/db --timeout=60s
python ../01-plain-eviction/evict.py db vacate-example-07
in_example get pods
