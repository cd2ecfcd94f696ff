"""`fix`: models that are refused export after it, and give what they gave; nothing else changes."""

import copy
import importlib.util
import os
import sys
from pathlib import Path

import pytest
import torch

import monograph
from monograph.autofix import edited_sources, fix, search
from monograph.autofix.attempts import Attempt, OfferedRefusal
from monograph.diagnostics import Edit

HEAD = "import torch\nimport monograph\n\n\n"
MODELS = {
    "counter": """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0  # of forward

    def forward(self, x):
        self.calls += 1
        return x * self.calls
""",
    "constant": """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = torch.zeros(
            4,
        )

    def forward(self, x):
        self.seen += x.sum(0)
        return x - self.seen
""",
    "out": """
class Model(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(1)
        torch.mul(x, 2, out=y)
        return y + 1
""",
    "sorted": """
class Model(torch.nn.Module):
    def forward(self, x):
        a = x.flatten()
        a = sorted([a[0], a[1], a[2], a[3], a[4], a[5], a[6]])
        return x * (a[6] - a[0])
""",
    "operator": """
@torch.library.custom_op("fixed::{name}", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Model(torch.nn.Module):
    def forward(self, x):
        return twice(x) + 1
""",
    "all": """
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen: torch.Tensor = torch.zeros(4)
        self.calls = 0

    def forward(self, x):
        self.seen.add_(x.sum(0))
        self.calls += 1
        return x + self.seen * self.calls


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        x = self.block(x)
        a = x.flatten()
        a = sorted([a[0], a[1], a[2], a[3], a[4], a[5], a[6]])
        return x * (a[6] - a[0])
""",
}
MAKE = "\n\ndef make():\n    return Model(), (torch.randn(4, 4),)\n"

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty project, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def every(_):
    """Accept it."""
    return True


def model_of(path, text):
    """The class `Model` of a file, as this text has it."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model()


@pytest.mark.parametrize(
    "name",
    [each if each == "all" else pytest.param(each, marks=pytest.mark.slow) for each in MODELS],
)
def test_a_fixed_model_exports_and_gives_what_it_gave(name, folder):
    """Call after call, at inputs unlike the example."""
    text = HEAD + MODELS[name].replace("{name}", f"a{os.getpid()}") + MAKE
    path = folder / "model.py"
    path.write_text(text, encoding="utf-8")
    proposals = []
    found = fix("model.py:make", accept=lambda each: proposals.append(each) or True)
    assert found.exports, (found.message, found.notes)
    assert found.written == ["model.py"]
    assert proposals == found.changes
    assert all(each.diff.startswith("--- a/model.py\n+++ b/model.py\n") for each in proposals)
    assert "of 12 calls give the same" in found.verified
    assert ("raise" in found.verified) == (name == "out")  # with gradients, as eager code says
    fixed = path.read_text(encoding="utf-8").replace("fixed::", "fixed_after::")
    model = model_of(folder / "after.py", fixed)
    original = model_of(folder / "before.py", text.replace("fixed::", "fixed_before::"))
    run = monograph.export(copy.deepcopy(model), (torch.randn(4, 4),)).module()
    for inputs in (torch.ones(4, 4), torch.randn(8, 4)[::2], torch.randn(4, 4).t()):
        expected = original(inputs)
        torch.testing.assert_close(model(inputs), expected)
        torch.testing.assert_close(run(inputs), expected)


def test_a_script_that_exports_by_itself(folder):
    """Its arguments become a tuple, its sizes what the model takes; all else is as it was."""
    text = (
        "# -*- coding: latin-1 -*-\r\nimport torch\r\nfrom monograph import Dim, export\r\n"
        "\r\nclass Halves(torch.nn.Module):\r\n    'H\xe4lften'\r\n"
        "    def forward(self, x):\r\n        return x.reshape(-1, 2) + 1\r\n\r\n"
        "n = Dim('n', min=1)\r\n"
        "program = export(Halves(), torch.ones(4), dynamic_shapes={'x': {0: n}})"
    )
    path = folder / "script.py"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o640)
    found = fix("script.py", accept=every)
    assert found.exports, (found.message, found.notes)
    assert [each.name for each in found.changes] == ["args-not-a-tuple", "relation-not-declared"]
    after = path.read_bytes().decode("latin-1")
    *kept, last = after.split("\r\n")
    assert kept == text.split("\r\n")[:-1]
    assert last.startswith("program = export(Halves(), (torch.ones(4),), dynamic_shapes=")
    assert '{"x": {0: 2 * Dim("_n"' in last
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
def test_sizes_of_the_command_line_and_of_a_factory(folder):
    """`--dynamic` becomes another text; the fourth part that a factory returns, another part."""
    model = (
        "class Model(torch.nn.Module):\n    def forward(self, x):\n        return x.reshape(-1, 2)"
    )
    text = f"{HEAD}{model}\n\n\ndef make():\n    return Model(), (torch.ones(4),), {{}}, SIZES\n"
    path = folder / "model.py"
    path.write_text(text.replace("SIZES", "None"), encoding="utf-8")
    found = fix("model.py:make", accept=every, dynamic="x: n")
    assert (found.exports, found.dynamic, found.written) == (True, "x: n; n == 2*_n", [])
    path.write_text(text.replace("SIZES", '"x: n"'), encoding="utf-8")
    found = fix("model.py:make", accept=every)
    assert found.exports, found
    assert '"x: n; n == 2*_n"' in path.read_text(encoding="utf-8")


def test_installed_packages_are_left_alone(folder):
    """What would have to change there is said."""
    site = folder / "env" / "site-packages"
    site.mkdir(parents=True)
    (site / "blocks.py").write_text(HEAD + MODELS["counter"], encoding="utf-8")
    code = (
        f"import sys\nsys.path.insert(0, {str(site)!r})\nimport torch\nfrom blocks import Model\n"
    )
    (folder / "model.py").write_text(code + MAKE, encoding="utf-8")
    found = fix("model.py:make", accept=every)
    assert not found.exports
    assert found.written == []
    assert "is not of this project" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def make(:\n", "model.py:1: SyntaxError"),
        ("def make():\n    return 3\n", "gives no module"),
        ("def make():\n    raise KeyError('weights')\n", "model.py:2: KeyError: 'weights'"),
        ("import os\nos.abort()\n", "ended before its export did"),
        ("raise SystemExit(4)\n", "left with exit status 4"),
    ],
)
def test_what_does_not_run_is_said_in_a_sentence(text, said, folder):
    """And nothing is changed."""
    path = folder / "model.py"
    path.write_text(text, encoding="utf-8")
    found = fix("model.py:make", accept=every)
    assert (found.exports, found.written) == (False, [])
    assert said in found.message
    assert path.read_text(encoding="utf-8") == text


def test_a_script_that_exports_nothing(folder):
    """It is told to name a factory; one that is not there, that it is not."""
    (folder / "model.py").write_text("print(1)\n", encoding="utf-8")
    found = fix("model.py", accept=every)
    assert found.missing
    assert "exports nothing; name a factory" in found.message
    assert fix("none.py", accept=every).message == "there is no file none.py"


# --- what the search does, with answers made up --------------------------------------------------


def problem(file, *edits):
    """A refusal that offers edits of a file's second line."""
    made = tuple([Edit(title, str(file), 2, 2, (line,)) for title, line in edits])
    return OfferedRefusal("some-name", "it is refused", f"{file}:2", "forward", "old", made)


@pytest.fixture
def source(folder):
    """A file with three lines."""
    path = folder / "model.py"
    path.write_text("one\ntwo\nthree\n", encoding="utf-8")
    return path


def answering(monkeypatch, answers, *, right=True):
    """Attempts answer by what the second line is."""

    def answer(request):
        if request.verify:
            return Attempt("exported", "as compared", right=right)
        return answers[next(iter(request.edited.values()), "one\ntwo\n").split("\n")[1]]

    monkeypatch.setattr(search, "attempt", answer)


def test_an_edit_that_does_not_help_is_taken_back(source, monkeypatch):
    """So is one that breaks the model, or changes what it gives; narrowing ones come last."""
    edits = [
        ("if it holds, say so", "narrow"),
        ("a", "useless"),
        ("b", "breaks"),
        ("c", "changes"),
        ("d", "right"),
    ]
    refused = Attempt("refused", "no", (problem(source, *edits),), [[1]])
    answers = {"two": refused, "useless": refused, "breaks": Attempt("raised", "KeyError: 1")}
    answers |= {"changes": Attempt("raised", unlike="result 0: 1 became 2")}
    answers |= {"right": Attempt("exported"), "narrow": Attempt("exported")}
    answering(monkeypatch, answers)
    asked = []
    found = fix("model.py:make", accept=lambda each: asked.append(each.title) or True)
    assert found.exports
    assert asked == ["d"]
    assert source.read_text(encoding="utf-8") == "one\nright\nthree\n"
    assert [note.rpartition("taken back: ")[2] for note in found.notes] == [
        "it is still refused",
        "KeyError: 1",
        "result 0: 1 became 2",
    ]


def test_what_is_not_accepted_is_not_written(source, monkeypatch):
    """Nor what is tried in a dry run."""
    refused = Attempt("refused", "no", (problem(source, ("a", "right"), ("b", "b")),), [[1]])
    answering(monkeypatch, {"two": refused, "right": Attempt("exported"), "b": refused})
    assert not fix("model.py:make", accept=lambda _: False).exports
    found = fix("model.py:make", accept=every, write=False)
    assert (found.exports, found.written, len(found.changes)) == (True, [], 1)
    assert source.read_text(encoding="utf-8") == "one\ntwo\nthree\n"


def test_edits_that_make_a_wrong_program_are_not_written(source, monkeypatch):
    """Compared with the module as it was, after the last one."""
    refused = Attempt("refused", "no", (problem(source, ("a", "right")),), [[1]])
    answers = {"two": refused, "right": Attempt("exported")}
    answering(monkeypatch, answers, right=False)
    found = fix("model.py:make", accept=every)
    assert not found.exports
    assert "as compared" in found.message
    assert source.read_text(encoding="utf-8") == "one\ntwo\nthree\n"


def test_files_that_cannot_be_written_or_have_changed(source, monkeypatch):
    """They stay as they are."""
    refused = Attempt("refused", "no", (problem(source, ("a", "right")),), [[1]])
    answers = {"two": refused, "right": Attempt("exported")}
    answering(monkeypatch, answers, right=True)
    with pytest.raises(OSError, match="was changed meanwhile"):
        fix("model.py:make", accept=lambda _: source.write_text("mine\n", encoding="utf-8"))
    assert source.read_text(encoding="utf-8") == "mine\n"
    source.write_text("one\ntwo\nthree\n", encoding="utf-8")
    monkeypatch.setattr(edited_sources.os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="may not be written"):
        fix("model.py:make", accept=every)
    assert source.read_text(encoding="utf-8") == "one\ntwo\nthree\n"
    assert [each.name for each in source.parent.iterdir()] == ["model.py"]


def test_of_two_files_both_are_written_or_none(tmp_path):
    """One that was changed meanwhile is found before the other is written."""
    names = [tmp_path / each for each in ("a.py", "b.py")]
    for name in names:
        name.write_text("one\n", encoding="utf-8")
    files = [(edited_sources.read(name), "two\n") for name in names]
    names[1].write_text("mine\n", encoding="utf-8")
    with pytest.raises(OSError, match="changed meanwhile"):
        edited_sources.write_all(files)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "one\n"


def test_whose_file_it_is(folder):
    """Files of the project, and no links out of it, no environments in it, no other files."""
    roots = (folder,)
    outside = folder.parent / f"outside_{folder.name}.py"
    for path in (folder / "mine.py", outside):
        path.write_text("", encoding="utf-8")
    (folder / "link.py").symlink_to(outside)
    assert edited_sources.is_users(str(folder / "mine.py"), roots)
    for each in (outside, folder / "link.py", folder / "none.py", Path(os.__file__)):
        assert not edited_sources.is_users(str(each), roots)
    assert not edited_sources.is_users(torch.__file__, (Path(sys.prefix),))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a\r\nb\r\n", "a\r\nnew\r\n"),
        ("a\rb\r", "a\rnew\r"),
        ("a\nb", "a\nnew"),
        ("a\x0cx\nb\n", "a\x0cx\nnew\n"),
        ("b", "b\nnew"),
    ],
)
def test_edits_keep_line_ends(source, expected):
    """Lines end where Python's tokenizer ends them."""
    assert Edit("title", "model.py", 2, 2, ("new",)).applied(source) == expected
