"""A folder with models good and hostile, and sweeps of it."""

import sys

import pytest

MODELS = """
import ctypes, os, sys, time
import torch

class Good(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(x).relu()

class Refused(torch.nn.Module):
    def forward(self, x):
        return x.view(7)

def good():
    return Good().eval(), (torch.randn(2, 4),)

def refused():
    return Refused(), (torch.randn(2, 4),)

def raises():
    raise RuntimeError("no weights \\x00 \\x1b[31m <here> at 0x7f0012345678")

def segfault():
    ctypes.string_at(0)

def hangs():
    while True:
        time.sleep(1)

def eats():
    held = []
    while True:
        held.append(bytearray(50_000_000))

def prints():
    for _ in range(300):
        print("y" * 100_000)
    return good()

def nothing():
    return 3

def leaves():
    os._exit(0)

def exits():
    sys.exit(3)

def killed():
    os.kill(os.getpid(), 9)

def kills():
    os.kill(os.getppid(), 9)
    time.sleep(5)
"""
HOSTILE = {
    "raises": "no-model",
    "segfault": "crashed",
    "hangs": "timed-out",
    "eats": "out-of-memory",
    "prints": "passed",
    "nothing": "no-model",
    "leaves": "crashed",
    "exits": "no-model",
    "kills": "worker-died",
    "killed": "worker-died",
}
VERDICTS = {"good": "passed", "refused": "refused", **HOSTILE}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the models' source lies."""
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path
