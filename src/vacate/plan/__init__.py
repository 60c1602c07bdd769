"""`vacate plan`: a cluster, read once, run forward in virtual time, and what a drain would come to there.

    fields     what is kept of the objects of each kind
    snapshot   what is read of a cluster; saved to files and read from them
    timings    how long pods take to start, to become ready and to stop, as the snapshot shows it
    loading    the snapshot as the stored objects of a simulated cluster
    turns      by which API each pod is evicted, and who has turns then
    observer   what happens there: healthy pods of each workload, budgets at zero, the last change
    forecast   the verdict, and the facts that it rests on
    shortfall  what is missing for pods without room
    waiting    until when something may still happen by itself
    health     what hampers drains anywhere in the snapshot; nothing is run for it
    run        one drain in the simulated cluster, to its end or to the point where nothing changes any more

No rule of a drain is written here: order, budgets, blockers and remedies are those of the controllers, which
run in the simulated cluster as they would in a real one.
"""
