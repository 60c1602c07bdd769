"""The shutdown agent: ends the pods of a stock kubelet's node in order, by the API, when it goes down."""
