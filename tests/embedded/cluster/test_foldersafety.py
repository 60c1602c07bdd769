"""`vacate up --dir` uses no folder, key or link that another user of the machine could have prepared."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from vacate.embedded.cluster.directory import Folder, FolderLock
from vacate.embedded.cluster.foldersafety import require_safe_folder
from vacate.errors import ConfigError

pytestmark = pytest.mark.process

OTHER = 12345


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "cluster"
    (made / "pki").mkdir(parents=True, mode=0o700)
    made.chmod(0o700)
    for name in ("kubeconfig", "tokens.csv", "cluster.db", "pki/ca.pem"):
        (made / name).write_bytes(b"")
        (made / name).chmod(0o600)
    return made


def acquired(root: Path) -> None:
    lock = FolderLock(Folder(root))
    lock.acquire()
    lock.release()


def test_a_folder_of_ones_own_is_used_again(root: Path) -> None:
    root.chmod(0o750)
    acquired(root)
    acquired(root)
    assert stat.S_IMODE(root.stat().st_mode) == 0o750


def test_what_is_new_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        acquired(tmp_path / "new")
    finally:
        os.umask(before)
    made = tmp_path / "new"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (made, *made.iterdir())}
    assert modes == {"new": 0o700, "lock": 0o600, "cluster.db": 0o600}


@pytest.mark.parametrize("name", ["", "pki", "pki/ca.pem", "kubeconfig", "tokens.csv", "cluster.db"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_may_write_is_refused(root: Path, name: str, mode: int) -> None:
    root.chmod(0o755)
    path = root / name
    path.chmod(path.stat().st_mode | mode)
    with pytest.raises(ConfigError, match="may be written by other users; chmod go-w") as refused:
        acquired(root)
    assert str(path) in str(refused.value)
    assert not (root / "lock").exists()


def test_in_a_folder_that_others_cannot_enter_only_the_modes_of_keys_matter(root: Path) -> None:
    (root / "tokens.csv").chmod(0o664)
    acquired(root)
    (root / "pki/ca.pem").chmod(0o660)
    with pytest.raises(ConfigError, match="may be written by other users"):
        acquired(root)


@pytest.mark.parametrize("name", ["", "pki", "pki/ca.pem", "tokens.csv"])
def test_what_belongs_to_another_user_is_refused(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_away(root / name, monkeypatch)
    with pytest.raises(ConfigError, match=r"belongs to another user \(uid \d+\)"):
        acquired(root)


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root can give a file to another user; everybody else can become another one."""
    if os.geteuid() == 0:
        os.chown(path, OTHER, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: OTHER)


def plant(root: Path, name: str, target: Path) -> None:
    path = root / name
    if path.is_dir():
        path.rename(target)
    else:
        path.unlink(missing_ok=True)
        target.write_bytes(b"precious")
    path.symlink_to(target)


@pytest.mark.parametrize("name", ["lock", "kubeconfig", "cluster.db", "tokens.csv", "pki", "pki/ca.pem"])
def test_planted_links_are_not_followed(root: Path, name: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    plant(root, name, target)
    with pytest.raises(ConfigError, match="is a link, and links are not followed here"):
        acquired(root)
    assert target.is_dir() or target.read_bytes() == b"precious"


def test_a_link_that_another_user_has_made_leads_nowhere(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    acquired(link)
    give_away(link, monkeypatch)
    with pytest.raises(ConfigError, match="is a link that another user has made"):
        acquired(link)


def test_a_parent_that_everybody_may_write_is_refused_unless_it_is_sticky(root: Path) -> None:
    root.parent.chmod(0o1777)
    require_safe_folder(root)
    root.parent.chmod(0o777)
    with pytest.raises(ConfigError, match="may be written by every user"):
        require_safe_folder(root)
