"""A worker that intercepts its own eviction: it takes no new jobs and finishes its last one."""

import os
import threading
import time

from vacate.sdk.sync import EvictionContext, interceptor, run_interceptors

leaving = threading.Event()
idle = threading.Event()


def work() -> None:
    job = 0
    while not leaving.is_set():
        job += 1
        print(f"job {job} begins", flush=True)
        time.sleep(1)  # in place of the work
        print(f"job {job} is done", flush=True)
    idle.set()


@interceptor("worker.example.com", pod_uid=os.environ["POD_UID"])
def finish(context: EvictionContext) -> None:
    context.report("Finishing the last job")
    leaving.set()
    while not idle.is_set():
        context.sleep(0.1)
    print("all jobs are done, the pod may go", flush=True)
    context.evict()


threading.Thread(target=work, daemon=True).start()
run_interceptors(finish, namespace=os.environ["POD_NAMESPACE"])
print("ended by a signal", flush=True)
