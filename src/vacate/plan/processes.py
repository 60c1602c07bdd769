"""Two runs side by side: the second in a process of its own, which shares the memory of what was read."""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import select
import signal
import struct
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NoReturn

import msgspec

from vacate.plan.forecast import Run
from vacate.plan.run import Progress

Task = tuple[Callable[[Progress], Run], Progress]
"""What makes a run, and what is told how far it is."""

_FAR = struct.Struct("dq")  # virtual seconds, and pods that are gone
_LOOK_SECONDS = 0.2


def side_by_side(tasks: Sequence[Task]) -> Iterator[Run]:
    """The runs in the order of the tasks, made two at a time where there are two processors.

    The second is repeated in this process where its own has failed, so that its error is raised here.
    """
    at_once = 2 if _processors() > 1 else 1
    for first in range(0, len(tasks), at_once):
        (make, progress), *others = tasks[first : first + at_once]
        if not others:
            yield make(progress)
            continue
        ((make_other, progress_of_other),) = others
        with _Child(make_other) as child:
            yield make(progress)
            found = child.wait(progress_of_other)
        yield make_other(progress_of_other) if found is None else found


def _processors() -> int:
    """How many this process may use; one where forking is not safe, as on macOS."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


class _Child:
    """A process that makes a run, and is ended with the block at the latest."""

    def __init__(self, make: Callable[[Progress], Run]) -> None:
        self._far = mmap.mmap(-1, _FAR.size)
        self._parent = os.getpid()
        self._reader, writer = os.pipe()
        gc.freeze()  # a collection in either process would copy the memory that they share
        with warnings.catch_warnings():
            # Such as the thread that draws the line of progress. The child takes none of its locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            self._work(make, writer)
        os.close(writer)

    def __enter__(self) -> _Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        gc.unfreeze()
        os.close(self._reader)
        os.kill(self._pid, signal.SIGKILL)  # where it has ended it still waits to be collected
        os.waitpid(self._pid, 0)
        self._far.close()

    def _work(self, make: Callable[[Progress], Run], writer: int) -> NoReturn:
        """In the child: nothing of it may reach the terminal or the code of the caller."""
        with contextlib.suppress(BaseException):
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
            made = msgspec.msgpack.encode(make(self._note))
            with open(writer, "wb") as pipe:
                pipe.write(made)
        os._exit(0)

    def _note(self, seconds: float, pods: int) -> None:
        if os.getppid() != self._parent:
            os._exit(1)  # nobody waits for it any more
        _FAR.pack_into(self._far, 0, seconds, pods)

    def wait(self, progress: Progress) -> Run | None:
        """The run, or None where it could not be made. Progress is told how far it is meanwhile."""
        poller, received = select.poll(), b""
        poller.register(self._reader, select.POLLIN)
        while True:
            if not poller.poll(_LOOK_SECONDS * 1000):
                progress(*_FAR.unpack_from(self._far))
                continue
            chunk = os.read(self._reader, 65536)
            if not chunk:
                break
            received += chunk
        try:
            return msgspec.msgpack.decode(received, type=Run)
        except msgspec.DecodeError:
            return None
