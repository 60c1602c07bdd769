#!/bin/sh
# Walks through the example against the cluster that KUBECONFIG names. See README.md beside this file.
set -eu
cd "$(dirname "$0")"

case "$(kubectl version -o json)" in
    *+vacate*) ;;
    *) echo "KUBECONFIG does not name an embedded cluster; start one with: vacate up" >&2; exit 1 ;;
esac

say() { printf '\n== %s\n' "$*"; }
in_example() { kubectl --namespace vacate-example "$@"; }

say "A namespace of its own"
kubectl create namespace vacate-example
# Whatever happens, nothing of the example stays behind.
trap 'kubectl uncordon "${node:-node-1}" >/dev/null; kubectl delete namespace vacate-example --wait=false' EXIT

say "A Deployment and its disruption budget"
in_example apply -f web.yaml
in_example rollout status deployment/web --timeout=60s
in_example wait --for=condition=DisruptionAllowed pdb/web --timeout=60s
in_example get pods,pdb -o wide

say "Drain the node of one of its pods: the budget lets it go, and it comes back elsewhere"
node=$(in_example get pods -l app=web -o jsonpath='{.items[0].spec.nodeName}')
kubectl drain "$node" --pod-selector=app=web --timeout=60s
in_example rollout status deployment/web --timeout=60s
in_example get pods -o wide
kubectl uncordon "$node"

say "A pod that is slow to terminate"
in_example apply -f slow.yaml
in_example wait --for=condition=Ready pod/slow --timeout=60s
in_example delete pod slow --wait=false
in_example get pod slow
say "It would take two minutes; a shorter grace period ends it sooner"
in_example delete pod slow --grace-period=1 --timeout=60s

say "What happened"
in_example get events --sort-by=.lastTimestamp

say "Clean up"
