"""Self-check of an installation: it works here, and it says what does not."""

import torch

from monograph import cli
from monograph.doctor import diagnosis
from monograph.host import versions


def test_it_works_here(capsys):
    """The command says so, with the versions, and ends well."""
    assert cli.doctor() == 0
    text = capsys.readouterr().out
    assert f"PyTorch {torch.__version__}: verified\n" in text
    assert text.endswith("it works\n")


def test_it_says_what_is_gone(monkeypatch):
    """A private name that a version lacks is named, and what depends on it fails with a line."""
    monkeypatch.delattr(torch._C, "_dispatch_tls_local_include_set")
    monkeypatch.setattr(torch.nn.Module, "named_modules", None)
    text, works = diagnosis()
    assert not works
    assert "torch._C._dispatch_tls_local_include_set is gone from PyTorch" in text
    assert "a program of one layer fails: " in text


def test_a_version_nobody_tried_says_it_was_not_verified(monkeypatch):
    """Its lines say on which versions it was."""
    monkeypatch.setattr(versions, "VERIFIED", ("1.0",))
    monkeypatch.setattr("monograph.doctor.VERIFIED", ("1.0",))
    assert "verified on 1.0 only" in diagnosis()[0]
