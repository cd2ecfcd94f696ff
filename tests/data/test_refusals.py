"""Golden refusals: programs that depend on data, each with the exact message it is refused with.

A file of `refusals/` holds pairs of a fence `python` (a `forward` of x: f32[6, 4], n: i64[] and
m: b8[6], compiled under the name `model.py`) and a fence `text`. With `tests/messages` among the
arguments, `pytest --accept` rewrites the texts.
"""

import linecache
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError
from tests.goldens import compared

PAIR = re.compile(r"## (\w+)\n\n```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
FILES = sorted(Path(__file__).with_name("refusals").glob("*.md"))
FILE = "model.py"


def refusal(name, code):
    """The message that an export gives."""
    program = f"import torch\n\n\n{code}"
    linecache.cache[FILE] = (len(program), None, program.splitlines(keepends=True), FILE)
    namespace = {}
    exec(compile(program, FILE, "exec"), namespace)
    module = type("Model", (nn.Module,), {"forward": staticmethod(namespace["forward"])})()
    example = (torch.ones(6, 4), torch.tensor(3), torch.tensor([True, False] * 3))
    with pytest.raises(MonographError) as raised:
        monograph.export(module, example, control_flow="refuse")
    message = str(raised.value)
    lines = message.split("\n")
    assert len(lines) <= 25, f"{name}: {message}"
    assert max(map(len, lines)) <= 100, f"{name}: {message}"
    assert f"{FILE}:" in message, f"{name} names no line: {message}"
    return f"{message}\n"


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_refusals_read_as_shown(file, request):
    """Every message is exactly the text in the file, and names the user's line."""
    text = file.read_text(encoding="utf-8")

    def shown(pair):
        name, code, _ = pair.groups()
        return f"## {name}\n\n```python\n{code}```\n\n```text\n{refusal(name, code)}```"

    expected = PAIR.sub(shown, text)
    if request.config.getoption("--accept", default=False):
        file.write_text(expected, encoding="utf-8")
    assert compared(file.read_text(encoding="utf-8")) == compared(expected)


def test_there_are_fifty():
    """At least fifty programs besides those of the documents."""
    assert sum(len(PAIR.findall(file.read_text(encoding="utf-8"))) for file in FILES) >= 50
