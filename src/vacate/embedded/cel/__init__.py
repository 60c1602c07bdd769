"""Rules in CEL: those of definitions, evaluated by the embedded server as kube-apiserver does."""
