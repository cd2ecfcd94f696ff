"""Every edit that a message offers is applied as it stands: then the model exports, and agrees.

An edit that computes both sides agrees with eager for inputs on either side; one that states the
answer agrees for the example, and raises where the answer is another.
"""

import textwrap
from pathlib import Path

import pytest
import torch

from monograph import export
from tests.problems.applying import module_of, refusal

X = torch.tensor([1.0, 2.0, 3.0])
N = torch.tensor(2)
BOTH, COND, STATED = "compute both", "to run one side", "say so"

PROGRAMS = {
    "two returns": "if x.sum() > 0:\n    return 2 * x\nreturn x - 1",
    "return and else": "if x.sum() > 0:\n    return 2 * x\nelse:\n    return x - 1",
    "one assignment": "if x.mean() < 0:\n    x = x + 5\nreturn x",
    "augmented": "y = x * 3\nif (x > 2.5).any():\n    y += x\nreturn y",
    "both assign": "if x[0] >= 0:\n    y = x\nelse:\n    y = -x\nreturn y + 1",
    "two names": "y = x\nif x.max() > 2:\n    a = x + 1\n    y = x * 2\nelse:\n    a = x\n"
    "return a * y",
    "negated": "if not x.sum() > 0:\n    x = x - 7\nreturn x",
    "negated call": "if not (x > 0).all():\n    return x * 0\nreturn x",
    "expression": "y = 2 * x if x.sum() > 0 else x - 1\nreturn y",
    "expression inside": "return x + (1.5 if x.sum() > 0 else 0.5)",
    "a tensor itself": "if x[1]:\n    x = x * 2\nreturn x",
    "a number": "if x.sum().item() > 0:\n    x = x * 2\nreturn x",
    "a float": "return 2 * x if float(x.max()) > 2.5 else x",
    "bool of it": "if bool(x.sum() > 0):\n    x = x * 2\nreturn x",
    "allclose": "if torch.allclose(x, x.abs()):\n    x = x * 2\nreturn x",
    "equal": "return x * 2 if torch.equal(x, x.abs()) else x",
    "pairs": "if x.sum() > 0:\n    return x, x + 1\nreturn x - 1, x",
    "a number with a name": "k = n.item()\nif k > 1:\n    x = x * 2\nreturn x",
    "a truth with a name": "some = (x > 0).any().item()\nif some:\n    x = x * 2\nreturn x",
    "a false truth with a name": "some = (x > 9).any().item()\nif some:\n    x = x * 2\nreturn x",
    "a sum of numbers": "k = n.item()\nif k + 1 >= 3:\n    x = x * 2\nreturn x",
    "an assertion": "assert x.sum() > 0\nreturn x * 2",
    "and": "flag = self.training\nif x.sum() > 0 and flag:\n    x = x * 2\nreturn x",
    "a range": "for _ in range(n.item()):\n    x = x + 1\nreturn x",
    "a range with a name": "k = n.item()\nfor _ in range(1, k):\n    x = x + 1\nreturn x",
    "an index": "k = n.item()\nreturn x * [1, 2, 3][k]",
    "an integer in a float": "return x * [1, 2, 3, 4, 5, 6, 7][int(x.sum())]",
    "a size in a float": "return x + torch.zeros(int(x.sum()) + 1).numel() * [1, 2, 3][n.item()]",
    "several steps": "if x.sum() > 0:\n    x = self.other(x) * 2\n    x = x / x.max()\nelse:\n"
    "    x = x - 1\nreturn x",
    "several steps, several names": "y = x\nif not (x > 2).any():\n    y = x.flip(0)\n"
    "    y = y * 2\n    z = y + 1\nelse:\n    y = x * 2\n    z = x\nreturn y - z",
    "several steps, then returns": "if x.sum() > 0:\n    y = x * 2\n    y = y + 1\n"
    "    return y / 2\nz = x - 1\nz = z * z\nreturn z",
    "several steps of a number": "k = n.item()\nif k > 1:\n    x = x * 2\n    x = x + 1\nreturn x",
    "a name of a side": "y = x + 1\nif x.sum() > 0:\n    t = x * 2\n    y = t * t + t\nreturn y",
    "a truth, several steps": "some = (x > 0).any().item()\nif some:\n    x = x * 2\n    x += 1\n"
    "return x",
    "calls it long": "y = x\nif x.sum() > 0:\n    self.other(x)\n    y = y + 1\nreturn y",
}
OTHERS = [-X, torch.tensor([0.0, 0.0, 0.0]), torch.tensor([-1.0, 5.0, 0.5]), X / 10]


def source_of(body):
    """Give a file with a model whose forward has this body."""
    forward = textwrap.indent(body, " " * 8)
    return (
        "import torch\n\n\nclass Model(torch.nn.Module):\n"
        "    def other(self, x):\n        return x\n\n"
        f"    def forward(self, x, n):\n{forward}\n"
    )


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_edit_works(name, strict, tmp_path):
    """Applied alone, each makes the model export, and what it computes is eager's."""
    module = module_of(source_of(PROGRAMS[name]), tmp_path)
    error = refusal(module, (X, N), strict=strict)
    assert error is not None
    edits = error.diagnostic.edits
    assert edits, str(error)
    assert "several steps" not in name or COND in edits[0].title
    original = module.Model()
    for edit in edits:
        assert edit.shown() in error.diagnostic.helps
        edited = edit.applied(Path(edit.file).read_text(encoding="utf-8"))
        program = export(module_of(edited, tmp_path).Model(), (X, N), strict=strict)
        run = program.module()
        same(run(X, N), original(X, N))
        for other in OTHERS:
            if BOTH in edit.title or COND in edit.title:
                same(run(other, N), original(other, N))
            else:
                assert STATED in edit.title


def same(mine, theirs):
    """Compare results as PyTorch's own tests do."""
    torch.testing.assert_close(mine, theirs, rtol=0, atol=0)


def test_the_opposite_is_for_inputs_that_never_fulfil_it(tmp_path):
    """The edit for a condition that never holds exports, with the other side."""
    body = "k = n.item()\nif k > 5:\n    x = x * 2\nif x.sum() < 0:\n    x = -x\nreturn x"
    module = module_of(source_of(body), tmp_path)
    error = refusal(module, (X, N))
    sources = Path(module.__file__).read_text(encoding="utf-8")
    for problem in reversed(error.problems):
        (edit,) = [e for e in problem.diagnostic.edits if "never" in e.title]
        sources = edit.applied(sources)
    run = export(module_of(sources, tmp_path).Model(), (X, N)).module()
    same(run(X, N), X)
    for args in ((-X, N), (X, N + 9)):
        with pytest.raises(RuntimeError):
            run(*args)


@pytest.mark.parametrize("name", ["two returns", "a number with a name", "a range with a name"])
def test_what_is_stated_is_asserted(name, tmp_path):
    """With the answer stated, inputs with another answer raise instead of going wrong."""
    module = module_of(source_of(PROGRAMS[name]), tmp_path)
    edit = next(e for e in refusal(module, (X, N)).diagnostic.edits if "always" in e.title)
    edited = edit.applied(Path(edit.file).read_text(encoding="utf-8"))
    run = export(module_of(edited, tmp_path).Model(), (X, N)).module()
    with pytest.raises(RuntimeError):
        run(-X, N - 2)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("body", ["d = {float(x.sum()): 1}\nreturn x * len(d)"])
def test_no_edit_says_what_a_float_always_is(body, strict, tmp_path):
    """Nothing follows from it: the float is not known by that."""
    error = refusal(module_of(source_of(body), tmp_path), (X, N), strict=strict)
    assert not error.problems[0].diagnostic.edits
