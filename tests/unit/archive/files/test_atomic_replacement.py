"""A file is replaced at once, with the permissions it had, and the process's mask is left alone."""

import os

import pytest

from monograph.archive.files.atomic_replacement import replacing


def test_a_new_file_has_the_permissions_that_the_process_gives(tmp_path, monkeypatch):
    """As with `open`; no other thread sees another mask meanwhile."""
    (tmp_path / "other").touch()
    monkeypatch.setattr(os, "umask", None)
    with replacing(tmp_path / "new") as (file, _):
        file.write(b"text")
    assert (tmp_path / "new").read_bytes() == b"text"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    """Whatever the mask of the process would give."""
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    with replacing(path) as (file, beside):
        file.write(b"text")
        assert beside.stat().st_mode & 0o777 == mode
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_bytes() == b"text"


def test_the_old_file_stays_if_writing_fails(tmp_path):
    """And nothing is left beside it."""
    (tmp_path / "file").write_bytes(b"old")

    def fail():
        with replacing(tmp_path / "file") as (file, _):
            file.write(b"new")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("file", b"old")]
