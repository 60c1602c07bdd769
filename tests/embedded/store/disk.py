"""A disk that remembers: every write and sync that SQLite asks for, in order, and what a power loss leaves.

SQLite reaches files through a table of functions. This puts a copy of the usual table in its place for a
while, in which writing, truncating, syncing and deleting are noted down, or refused, before being passed on.
"""

from __future__ import annotations

import _sqlite3
import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

OK, FULL, IOERR_FSYNC = 0, 13, 1034
SECTOR = 512

_p, _int, _long = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
_Open = ctypes.CFUNCTYPE(_int, _p, _p, _p, _int, _p)  # names as addresses: SQLite holds on to them
_Delete = ctypes.CFUNCTYPE(_int, _p, ctypes.c_char_p, _int)
_Write = ctypes.CFUNCTYPE(_int, _p, _p, _int, _long)
_Truncate = ctypes.CFUNCTYPE(_int, _p, _long)
_Sync = ctypes.CFUNCTYPE(_int, _p, _int)


class _Vfs(ctypes.Structure):
    _fields_ = [
        ("version", _int), ("size_of_file", _int), ("longest_path", _int), ("next", _p),
        ("name", ctypes.c_char_p), ("data", _p), ("open", _Open), ("delete", _Delete),
        ("others", _p * 14),
    ]  # fmt: skip


class _Methods(ctypes.Structure):
    _fields_ = [
        ("version", _int), ("close", _p), ("read", _p), ("write", _Write), ("truncate", _Truncate),
        ("sync", _Sync), ("others", _p * 13),
    ]  # fmt: skip


@dataclass(frozen=True)
class DiskOperation:
    """One thing that was done to a file."""

    kind: str  # write, truncate, sync, delete
    path: str
    offset: int = 0  # the new length of a truncated file; whether a deletion was synced
    data: bytes = b""


Refuse = Callable[[DiskOperation], int]
"""The error code for an operation; 0 lets it pass."""


@dataclass
class Disk:
    """The operations of the files that were opened while it was in place."""

    operations: list[DiskOperation] = field(default_factory=list)
    refuse: Refuse = lambda operation: OK
    paths: dict[int, str] = field(default_factory=dict)  # by the address of the open file

    def note(self, operation: DiskOperation, pass_on: Callable[[], int]) -> int:
        refused = self.refuse(operation)
        if refused:
            return refused
        done = pass_on()
        if done == OK:
            self.operations.append(operation)
        return done


@contextmanager
def recorded() -> Iterator[Disk]:
    """Put the recording table in place for all files that are opened within."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    usual = library.sqlite3_vfs_find(None)
    disk = Disk()
    table = _recording_table(usual, disk)
    library.sqlite3_vfs_register(ctypes.byref(table), 1)
    try:
        yield disk
    finally:
        library.sqlite3_vfs_unregister(ctypes.byref(table))
        library.sqlite3_vfs_register(usual, 1)


def _recording_table(usual: Any, disk: Disk) -> _Vfs:
    table = _Vfs.from_buffer_copy(usual.contents)
    kept: dict[int, _Methods] = {}

    def open_(vfs: int, name: int | None, file: int, flags: int, out: int) -> int:
        done = int(usual.contents.open(vfs, name, file, flags, out))
        slot = ctypes.cast(file, ctypes.POINTER(_p))
        if done == OK and slot[0] and name:
            disk.paths[file] = ctypes.string_at(name).decode()
            original = int(slot[0])
            if original not in kept:
                kept[original] = _recording_methods(original, disk)
            slot[0] = ctypes.addressof(kept[original])
        return done

    def delete(vfs: int, name: bytes, sync: int) -> int:
        operation = DiskOperation("delete", name.decode(), sync)
        return disk.note(operation, lambda: int(usual.contents.delete(vfs, name, sync)))

    table.name = b"recording"
    table.open, table.delete = _Open(open_), _Delete(delete)
    return table


def _recording_methods(address: int, disk: Disk) -> _Methods:
    original = _Methods.from_address(address)
    methods = _Methods.from_buffer_copy(original)

    def write(file: int, data: int, count: int, offset: int) -> int:
        operation = DiskOperation("write", disk.paths[file], offset, ctypes.string_at(data, count))
        return disk.note(operation, lambda: int(original.write(file, data, count, offset)))

    def truncate(file: int, length: int) -> int:
        operation = DiskOperation("truncate", disk.paths[file], length)
        return disk.note(operation, lambda: int(original.truncate(file, length)))

    def sync(file: int, flags: int) -> int:
        return disk.note(DiskOperation("sync", disk.paths[file]), lambda: int(original.sync(file, flags)))

    methods.write, methods.truncate, methods.sync = _Write(write), _Truncate(truncate), _Sync(sync)
    return methods


# What a power loss leaves

Keep = Callable[[DiskOperation], bytes | None]
"""What becomes of a write that was not synced: its bytes, others of the same length, or None: nothing."""


def lost(operation: DiskOperation) -> bytes | None:
    return None


def kept(operation: DiskOperation) -> bytes | None:
    return operation.data


def garbage(operation: DiskOperation) -> bytes | None:
    return b"\xa5" * len(operation.data)


def torn(random: Random) -> Keep:
    """Each write whole, lost, garbled, or cut off at some sector."""

    def keep(operation: DiskOperation) -> bytes | None:
        cut = random.randrange(len(operation.data) // SECTOR + 1) * SECTOR
        rest = random.choice([b"", garbage(operation) or b""])
        return random.choice([None, operation.data, garbage(operation), operation.data[:cut] + rest[cut:]])

    return keep


def image(operations: list[DiskOperation], keep: Keep) -> dict[str, bytes]:
    """The files after the power went with the last of these operations."""
    synced, folder_synced = _last_syncs(operations), _last_folder_sync(operations)
    files: dict[str, bytearray] = {}
    for number, operation in enumerate(operations):
        safe = number < synced.get(operation.path, 0)
        if operation.kind == "write":
            data = operation.data if safe else keep(operation)
            if data is not None:
                _place(files.setdefault(operation.path, bytearray()), operation.offset, data)
        elif operation.kind == "truncate" and (safe or keep(operation) is not None):
            del files.setdefault(operation.path, bytearray())[operation.offset :]
        elif operation.kind == "delete" and (
            operation.offset or number < folder_synced or keep(operation) is not None
        ):
            files.pop(operation.path, None)
    return {path: bytes(content) for path, content in files.items()}


def _last_syncs(operations: list[DiskOperation]) -> dict[str, int]:
    return {operation.path: number for number, operation in enumerate(operations) if operation.kind == "sync"}


def _last_folder_sync(operations: list[DiskOperation]) -> int:
    """SQLite syncs the folder with the first sync of a journal or write-ahead log that it has made."""
    last, known = 0, {""}
    for number, operation in enumerate(operations):
        if operation.kind == "delete":
            known.discard(operation.path)
        elif operation.kind == "sync" and operation.path not in known:
            known.add(operation.path)
            last = number
    return last


def _place(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content += bytes(offset - len(content))
    content[offset : offset + len(data)] = data


def put_back(files: dict[str, bytes], folder: Path) -> None:
    """Write an image into another folder."""
    for path, content in files.items():
        (folder / Path(path).name).write_bytes(content)
