"""Scale-downs that keep the spread of replicas."""
