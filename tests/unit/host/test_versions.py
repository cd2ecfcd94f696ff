"""Versions of PyTorch: what was verified, and what is said about others."""

import warnings

import pytest
import torch
from torch.utils import _pytree

from monograph.doctor import diagnosis
from monograph.host import versions


def test_every_name_is_there():
    """In a version that was verified, nothing is gone and nothing is said."""
    assert versions.version() in versions.VERIFIED
    assert versions.unresolved() == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        versions.warn_if_unverified()


@pytest.mark.parametrize(
    ("owner", "name", "path"),
    [
        (torch._C, "_is_alias_of", None),
        (torch._C, "_ForceDispatchKeyGuard", "torch._C._ForceDispatchKeyGuard"),
        (_pytree, "TreeSpec", "torch.utils._pytree.TreeSpec"),
    ],
)
def test_another_version_is_told_of_once(monkeypatch, owner, name, path):
    """One warning says what was not verified, and what the version lacks."""
    monkeypatch.setattr(versions, "VERIFIED", ("1.0", "1.1"))
    with pytest.warns(RuntimeWarning, match=r"every name that it uses is there") as told:
        versions.warn_if_unverified()
    assert len(told) == 1
    assert "verified on PyTorch 1.0 and 1.1, not on " in str(told[0].message)
    if path is not None:
        monkeypatch.delattr(owner, name)
        with pytest.warns(RuntimeWarning, match=path):
            versions.warn_if_unverified()


def test_a_free_threaded_build_is_told_of(monkeypatch):
    """At import and by the self-check, since no test ran on one."""
    monkeypatch.setattr(versions.sys, "version", f"{versions.sys.version} free-threading build")
    with pytest.warns(RuntimeWarning, match="free-threaded build of Python") as told:
        versions.warn_if_unverified()
    assert len(told) == 1
    assert "free-threaded, not verified" in diagnosis()[0]
