"""The supervisor as a program: `main(FOLDER)`."""

from __future__ import annotations

import fcntl
import os
import socket
import sys

from vacate.nodeagent.runtime.supervisor.connections import SOCKET
from vacate.nodeagent.runtime.supervisor.loop import RECORDS, Supervisor

LOCK = "supervisor.lock"


def main(folder: str) -> None:
    """Serve the folder in the background, unless another supervisor does; return when it listens.

    It is no child of the agent: it must neither end with it nor be left to it as a zombie.
    """
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # what the starter left open is nothing for containers
    os.chdir(folder)
    os.makedirs(RECORDS, exist_ok=True, mode=0o700)  # noqa: PTH103
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    if os.path.exists(SOCKET):  # noqa: PTH110
        os.unlink(SOCKET)  # noqa: PTH108
    # Relative, since the whole path may be longer than an address of a socket can be.
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o077)
    listener.bind(SOCKET)
    listener.listen(4)
    if os.fork() != 0:
        return
    try:
        Supervisor(folder).run(listener)
    except BaseException:  # there is no one above to hear of it
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
