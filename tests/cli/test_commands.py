"""Each verb with good, bad and hostile input; help says an example; nothing loads torch for it."""

import io
import json
import resource
import subprocess
import sys
import types

import pytest
import torch
from typer.testing import CliRunner

import monograph
from monograph import cli, conversions, lazy_imports
from monograph.cli import commands, output, programs, watching
from monograph.cli.commands import app
from monograph.diagnostics import page_names
from tests.repo.sources import environment

MODEL = """
import torch
import monograph

class Model(torch.nn.Module):
    def forward(self, x):
        return x.relu() * 2

class Refused(torch.nn.Module):
    def forward(self, x):
        return x.view(7)

def make():
    return Model(), (torch.randn(2, 4),)

def with_shapes():
    return Model(), (torch.randn(2, 4),), {}, {"x": {0: monograph.Dim("batch")}}

class Weights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU())

    def forward(self, x):
        return self.net(x).softmax(-1)

def with_weights():
    return Weights().eval(), (torch.randn(2, 4),)

class Hidden(torch.nn.Module):
    def forward(self, x):
        return (x.relu() + 1).sinh()

def hidden():
    return Hidden(), (torch.randn(2, 4),)

def refused():
    return Refused(), (torch.randn(2, 4),)

def nothing():
    return 3

number = 4
"""

VERBS = ["export", "report", "fix", "inspect", "show", "run", "verify", "diff", "convert"]
VERBS += ["minify", "explain", "estimate", "examples", "doctor", "sweep"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the models' source and a program lie."""
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monograph.save(monograph.export(torch.nn.ReLU(), (torch.ones(3),)), "relu.pt2")
    yield tmp_path
    sys.modules.pop("model", None)


def invoked(*words):
    """The exit status, and everything that was said."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("place", ["model.py:make", "model:make"])
def test_from_a_factory_to_a_file_that_is_right(folder, place):
    """Exported, shown, run, verified, and compared with itself."""
    assert invoked("export", place, "-o", "m.pt2", "--dynamic", "x: batch, 4")[0] == 0
    status, shown = invoked("show", "m.pt2")
    assert status == 0
    assert "torch.ops.aten.relu.default" in shown
    assert "f32[batch, 4]" in shown
    assert invoked("run", "m.pt2")[0] == 0
    assert invoked("verify", "m.pt2", "--module", place, "--html", "v.html")[0] == 0
    assert "legal calls compared equal" in (folder / "v.html").read_text(encoding="utf-8")
    assert invoked("diff", "m.pt2", "m.pt2") == (0, "no difference\n")


def test_entries_of_a_file(folder):
    """Each is shown, run, verified and converted by its name; without it the names are said."""

    class Two(torch.nn.Module):
        def double(self, x):
            return x * 2

        def forward(self, x):
            return torch.relu(x)

    two, x = Two(), torch.ones(3)
    entries = {"double": monograph.call(x), "relu": monograph.call(x)}
    monograph.export_methods(two, entries).save("two.pt2")
    sys.modules["two"] = types.SimpleNamespace(make=lambda: (two, (x,)))
    status, shown = invoked("inspect", "two.pt2")
    assert status == 0
    assert all(f"program '{name}'" in shown for name in entries)
    assert "aten.relu" in invoked("show", "two.pt2", "--entry", "relu")[1]
    assert invoked("run", "two.pt2", "--entry", "double", "--json") == (0, "[2.0, 2.0, 2.0]\n")
    for name in entries:
        assert invoked("verify", "two.pt2", "--module", "two:make", "--entry", name)[0] == 0
    wrong = invoked("verify", "two.pt2", "--module", "two:make", "--entry", "nobody")
    assert wrong[0] == 1
    assert "double" in wrong[1]
    assert invoked("convert", "two.pt2", "--entry", "relu", "--to", "python", "-o", "r.py")[0] == 0
    status, said = invoked("run", "two.pt2")
    assert status == 1
    assert "double" in said
    sys.modules.pop("two")


def test_shapes_of_the_factory(folder):
    """A factory may say which sizes vary."""
    status, said = invoked("export", "model.py:with_shapes", "-o", "m.pt2")
    assert status == 0, said
    assert "batch  0 …" in said


def test_estimates(folder):
    """Formulas, or numbers at given sizes, and a roofline."""
    invoked("export", "model.py:make", "-o", "m.pt2", "--dynamic", "x: batch, 4")
    status, said = invoked("estimate", "m.pt2")
    assert status == 0
    assert "32*batch bytes" in said
    assert "at least" in invoked("estimate", "m.pt2", "--at", "batch=8", "--device", "1e12,1e9")[1]
    status, said = invoked("estimate", "m.pt2", "--at", "batch=8", "--json")
    assert json.loads(said)["activations"] == 2 * 8 * 4 * 4


def test_differences_of_programs(folder):
    """Graphs, contracts and weights."""
    layer = torch.nn.Linear(4, 2)
    monograph.save(monograph.export(layer, (torch.ones(3, 4),)), "one.pt2")
    with torch.no_grad():
        layer.weight[0, 0] += 1
    monograph.save(monograph.export(layer, (torch.ones(5, 4),)), "other.pt2")
    status, said = invoked("diff", "one.pt2", "other.pt2")
    assert status == cli.WRONG
    assert "-    input  f32[3, 4]" in said
    assert "! weight: 1 of 8 elements differ" in said
    assert "+ " not in invoked("diff", "one.pt2", "one.pt2")[1]


@pytest.mark.parametrize("target", ["python", "torch"])
def test_conversions(folder, target):
    """The file is written, and its size said."""
    status, said = invoked("convert", "relu.pt2", "--to", target, "-o", "made")
    assert status == 0
    assert said.startswith("made: ")
    assert (folder / "made").stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("export", "model.py:refused", "-o", "m.pt2"), cli.WRONG, "view-impossible"),
        (("export", "model.py:nothing", "-o", "m.pt2"), cli.MISSING, "gives no module, but int"),
        (("export", "model.py:number", "-o", "m.pt2"), cli.MISSING, "neither a module nor"),
        (("export", "model.py", "-o", "m.pt2"), cli.MISSING, "write package.module:attribute"),
        (("export", "none.py:make", "-o", "m.pt2"), cli.MISSING, "there is no file none.py"),
        (("export", "model.py:make", "-o", "no/m.pt2"), cli.WRONG, "no/"),
        (("show", "none.pt2"), cli.MISSING, "there is no file none.pt2"),
        (("show", "model.py"), cli.WRONG, "archive-"),
        (("run", "model.py"), cli.WRONG, "archive-"),
        (("diff", "relu.pt2", "none.pt2"), cli.MISSING, "there is no file none.pt2"),
        (("convert", "relu.pt2", "--to", "tape", "-o", "x"), cli.MISSING, "not to tape"),
        (("explain", "contract-brokn"), cli.MISSING, "did you mean contract-broken"),
        (("examples", "quantum", "flux"), cli.MISSING, "no case has all of that"),
        (("estimate", "none.pt2"), cli.MISSING, "there is no file none.pt2"),
        (("estimate", "relu.pt2", "--at", "batch"), cli.MISSING, "name=number; not batch"),
        (("estimate", "relu.pt2", "--at", "batch=3"), cli.WRONG, "there is no size batch"),
        (("estimate", "relu.pt2", "--device", "fast"), cli.MISSING, "write a device as"),
        (("inspect", "none.pt2"), cli.MISSING, "there is no file none.pt2"),
        (("export", "-o", "m.pt2"), cli.MISSING, "name a factory"),
        (("export", "model.py:make", "--transformers", "A", "-o", "x"), cli.MISSING, "or a class"),
        (("export", "--transformers", "NoModel", "-o", "x"), cli.MISSING, "cannot be made of that"),
        (("export", "--transformers", "BertModel", "--config", "a", "-o", "x"), 2, "name=value"),
        (("report", "model.py:make", "-o", "x.pdf"), cli.MISSING, "not to x.pdf"),
        (("report", "none.py:make"), cli.MISSING, "there is no file none.py"),
        (("run", "relu.pt2", "--on", "none.onnx"), cli.MISSING, "there is no file none.onnx"),
        (("verify", "relu.pt2", "--handed-over", "no"), cli.MISSING, "there is no file no"),
        (("verify", "relu.pt2"), cli.WRONG, "nothing-to-verify-against"),
        (("fix", "model.py:number; rm -rf /"), cli.MISSING, "there is no model.py:number; rm"),
    ],
)
def test_what_is_not_right_is_said_in_a_sentence(folder, words, status, said):
    """And the status tells what is wrong from what is not there."""
    given, text = invoked(*words)
    assert (given, said in text) == (status, True), text
    assert "Traceback" not in text
    assert "typer" not in text


def test_a_refused_export_writes_its_report(folder):
    """Problems as JSON, and no program."""
    done = invoked("export", "model.py:refused", "-o", "m.pt2", "--report", "problems.json")
    assert done[0] == cli.WRONG
    assert "view-impossible" in json.dumps(json.loads((folder / "problems.json").read_text()))
    assert not (folder / "m.pt2").exists()


def test_pages_and_examples():
    """By name, by words, by tag, and refused ones alone."""
    assert invoked("explain", "contract-broken")[1].startswith("# contract-broken")
    assert invoked("examples", "optional", "input")[1].startswith("optional_input")
    tagged = invoked("examples", "--tag", "torch.map")[1]
    assert tagged.startswith("dynamic_shape_map")
    refused = invoked("examples", "--unsupported")[1].splitlines()
    assert refused
    assert all("refused: " in line for line in refused)
    for name in page_names():
        assert any(line.endswith(f"(refused: {name}, docs/errors/{name}.md)") for line in refused)
        explained = invoked("explain", name)[1]
        assert explained.endswith(f'In ExportDB: exportdb.cases["{name}"], docs/errors/{name}.md\n')


def test_what_nobody_names():
    """Paths, patterns, nothing and very much name no page and no case, and are quoted back."""
    for name in ("../frames", "", "*", "branch-copies.md", "a" * 3000, "\0", "Ünïcode"):
        status, said = invoked("explain", name)
        assert (status, said.startswith(f"no error is called {name}")) == (cli.MISSING, True)
    for words in (("[*]",), ("--tag", "no.such"), ("x" * 3000,), ("--tag", "", "while")):
        assert invoked("examples", *words) == (cli.MISSING, "no case has all of that\n")


def test_a_report_of_what_stands_in_the_way(folder):
    """As text, and as a page; the status says whether anything does."""
    status, said = invoked("report", "model.py:refused")
    assert (status, "view-impossible" in said) == (cli.WRONG, True)
    status, said = invoked("report", "model.py:refused", "-o", "problems.html")
    assert (status, said) == (cli.WRONG, "problems.html: 1 problem\n")
    assert "view-impossible" in (folder / "problems.html").read_text(encoding="utf-8")
    assert invoked("report", "model.py:make") == (cli.RIGHT, "nothing to report\n")


def test_the_smallest_script_that_fails(folder, monkeypatch):
    """Of the graph that the backend cannot compile, one operator is left; else it is said so."""
    status, said = invoked("minify", "model.py:make")
    assert (status, "nothing-fails" in said) == (cli.WRONG, True)

    def broken(graph, inputs):
        if any("sinh" in str(node.target) for node in graph.graph.nodes):
            raise RuntimeError("no sinh here")
        return graph.forward

    found = sys.modules["monograph.jit.backends"].find_backend
    named = lambda name: broken if name == "broken" else found(name)  # noqa: E731
    monkeypatch.setattr("monograph.jit.minifying.find_backend", named)
    status, said = invoked("minify", "model.py:hidden", "--backend", "broken", "-o", "small.py")
    assert (status, said.startswith("small.py: ")) == (cli.RIGHT, True)
    script = (folder / "small.py").read_text(encoding="utf-8")
    assert ("sinh" in script, "relu" in script, "no sinh here" in script) == (True, False, True)
    assert invoked("minify", "model.py:absent")[0] == cli.MISSING
    assert invoked("minify", "model.py:make", "--backend", "absent")[0] == cli.WRONG


def test_answers_for_programs(folder):
    """Each is one JSON text, also where something is refused."""

    def answer(*words):
        status, said = invoked(*words, "--json")
        return status, json.loads(said)

    status, made = answer("export", "model.py:make", "-o", "m.pt2", "--verify")
    assert (status, made["file"], "f32[2, 4]" in made["contract"]) == (0, "m.pt2", True)
    assert answer("verify", "m.pt2")[1]["right"] is True
    status, refused = answer("export", "model.py:refused", "-o", "n.pt2")
    assert (status, refused["findings"][0]["name"]) == (cli.WRONG, "view-impossible")
    assert answer("run", "relu.pt2") == (0, [1.0, 1.0, 1.0])
    status, parts = answer("diff", "relu.pt2", "m.pt2")
    assert (status, parts["state"], bool(parts["graph"])) == (cli.WRONG, [], True)
    assert answer("convert", "relu.pt2", "--to", "python", "-o", "m.py")[1]["to"] == "python"
    status, file = answer("inspect", "m.pt2")
    (program,) = file["programs"]
    assert (status, program["operators"]["aten.relu.default"]) == (cli.RIGHT, 1)
    assert program["parameters"]["bytes"] == 0
    assert "relu" in answer("show", "m.pt2")[1]["graph"]
    assert "aten.relu(" in answer("show", "m.pt2", "--python")[1]["python"]
    status, problems = answer("report", "model.py:refused")
    assert (status, problems["findings"][0]["name"]) == (cli.WRONG, "view-impossible")
    explained = answer("explain", "contract-broken")[1]
    assert explained["page"].startswith("# contract-broken")
    (found,) = answer("examples", explained["case"])[1]
    assert (found["error"], found["page"]) == ("contract-broken", explained["file"])
    found = answer("examples", "optional", "input")[1][0]
    assert (found["support"], found["page"]) == ("supported", "docs/exportdb/optional_input.md")


def test_a_model_of_transformers(folder):
    """A class and settings; nothing is downloaded."""
    pytest.importorskip("transformers")
    small = ["num_hidden_layers=1", "hidden_size=8", "num_attention_heads=2", "vocab_size=2000"]
    settings = [word for each in (*small, "intermediate_size=8") for word in ("--config", each)]
    made = invoked("export", "--transformers", "BertModel", *settings, "-o", "bert.pt2")
    assert made[0] == 0, made[1]
    assert "input_ids" in made[1]


@pytest.mark.parametrize("target", ["openvino", "executorch"])
def test_systems_that_may_be_missing(folder, monkeypatch, target):
    """One sentence says what to install. With a stand-in, what they are called with is right."""
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    status, said = invoked("convert", "relu.pt2", "--to", target, "-o", "made")
    assert (status, said) == (
        cli.MISSING,
        f"this needs the package {target}: pip install 'monograph[{target}]'\n",
    )
    calls = []

    def written(program, example_input=None):
        assert isinstance(program, torch.export.ExportedProgram)
        calls.append(example_input)
        lowered = types.SimpleNamespace(buffer=b"made")
        return types.SimpleNamespace(to_executorch=lambda: lowered)

    def kept(_, name, compress_to_fp16=True):
        assert not compress_to_fp16
        (folder / name).write_bytes(b"made")

    monkeypatch.setattr(programs, "find_spec", lambda _: object())
    stand_ins = {
        "openvino:convert_model": written,
        "openvino:save_model": kept,
        "executorch.exir:to_edge_transform_and_lower": written,
    }
    monkeypatch.setattr(conversions, "resolved", stand_ins.__getitem__)
    assert invoked("convert", "relu.pt2", "--to", target, "-o", "made") == (0, "made: 4 bytes\n")
    assert len(calls) == 1


@pytest.mark.filterwarnings("ignore")
def test_what_openvino_makes(folder):
    """Its model gives what the program gives, to single precision, at another size."""
    openvino = pytest.importorskip("openvino")
    dynamic = ["--dynamic", "x: batch, 4"]
    assert invoked("export", "model.py:with_weights", "-o", "m.pt2", *dynamic)[0] == 0
    assert invoked("convert", "m.pt2", "--to", "openvino", "-o", "m.xml")[0] == 0
    x = torch.randn(5, 4)
    exact = {"INFERENCE_PRECISION_HINT": "f32"}  # some processors have bfloat16 in its place
    (found,) = openvino.compile_model("m.xml", "CPU", exact)({0: x.numpy()}).values()
    torch.testing.assert_close(torch.from_numpy(found), monograph.load("m.pt2").module()(x))


@pytest.mark.filterwarnings("ignore")
def test_what_executorch_makes(folder):
    """Its program gives what ours gives, up to the bound that is declared."""
    runtime = pytest.importorskip("executorch.runtime")
    dynamic = ["--dynamic", "x: batch, 4; batch <= 8"]
    assert invoked("export", "model.py:with_weights", "-o", "m.pt2", *dynamic)[0] == 0
    assert invoked("convert", "m.pt2", "--to", "executorch", "-o", "m.pte")[0] == 0
    method = runtime.Runtime.get().load_program("m.pte").load_method("forward")
    for size in (2, 8, 1):
        x = torch.randn(size, 4)
        torch.testing.assert_close(method.execute([x])[0], monograph.load("m.pt2").module()(x))


@pytest.mark.slow
def test_entries_are_methods_of_one_buffer(folder):
    """ExecuTorch has each under its name, and the weights once."""
    runtime = pytest.importorskip("executorch.runtime")
    model, x = torch.nn.Linear(256, 256).requires_grad_(requires_grad=False), torch.ones(2, 256)
    entries = {"plain": monograph.call(x), "twice": monograph.call(x).of(lambda m, x: m(x) * 2)}
    monograph.export_methods(model, entries).save("two.pt2")
    assert invoked("convert", "two.pt2", "--to", "executorch", "-o", "two.pte")[0] == 0
    methods = runtime.Runtime.get().load_program("two.pte")
    for name, factor in (("plain", 1), ("twice", 2)):
        (found,) = methods.load_method(name).execute([x])
        torch.testing.assert_close(found, model(x) * factor)
    n_bytes = sum(each.nbytes for each in model.parameters())
    assert (folder / "two.pte").stat().st_size < 1.5 * n_bytes


def test_executorch_needs_bounds(folder, monkeypatch):
    """It would plan memory for the example's sizes; with the help's bounds it is asked."""
    monkeypatch.setattr(programs, "find_spec", lambda _: object())
    assert invoked("export", "model.py:make", "-o", "m.pt2", "--dynamic", "x: batch, n")[0] == 0
    status, said = invoked("convert", "m.pt2", "--to", "executorch", "-o", "m.pte")
    assert (status, 'as in --dynamic "...; batch <= 1024; n <= 1024"' in said) == (cli.WRONG, True)
    bounded = "x: batch, n; batch <= 1024; n <= 1024"
    assert invoked("export", "model.py:make", "-o", "m.pt2", "--dynamic", bounded)[0] == 0
    lowered = types.SimpleNamespace(to_executorch=lambda: types.SimpleNamespace(buffer=b"made"))
    monkeypatch.setattr(conversions, "resolved", lambda _: lambda _: lowered)
    assert invoked("convert", "m.pt2", "--to", "executorch", "-o", "m.pte")[0] == cli.RIGHT


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self):
        return True


def test_colour_and_progress_are_for_terminals(monkeypatch):
    """Not where `NO_COLOR` is set, and not for those who asked for quiet."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert output.colored_diff("+a\n b", Terminal()) == "\x1b[32m+a\x1b[0m\n b"
    assert output.colored_diff("+a", io.StringIO()) == "+a"
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.colored_diff("+a", Terminal()) == "+a"
    monkeypatch.setattr(sys, "stderr", Terminal())
    with output.progress() as told:
        told("exporting")
    assert "exporting" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\r\x1b[K")
    monkeypatch.setattr(sys, "stderr", Terminal())
    output.quiet(True)
    with output.progress() as told:
        told("exporting")
    output.quiet(False)
    assert not sys.stderr.getvalue()


def test_progress_names_what_is_captured(monkeypatch):
    """The function of the user's that runs, or is interpreted, and its share of the time."""

    class Slow(torch.nn.Module):
        def forward(self, x):
            for _ in range(1000):
                x = x + 1
            return x

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(watching, "EVERY", 0.01)
    with watching.watched("exporting slow"):
        monograph.export(Slow(), (torch.ones(2),))
    assert "Slow.forward (test_commands.py:" in stream.getvalue()


def test_completion_knows_names():
    """Of pages and targets."""
    assert "contract-broken" in commands.names_of_pages("contract")
    assert commands.names_of_targets("o") == ["onnx", "openvino"]


@pytest.mark.parametrize("verb", VERBS)
def test_help_says_an_example(verb):
    """What one would type."""
    status, said = invoked(verb, "--help")
    assert status == 0
    assert f"monograph {verb}" in said
    assert "Exit status: 0" in said


def test_help_and_version_load_no_torch():
    """They answer at once."""
    script = (
        "import sys; from typer.testing import CliRunner; from monograph.cli.commands import app\n"
        "for word in ('--help', '--version'):\n"
        "    assert CliRunner().invoke(app, [word]).exit_code == 0\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], env=environment(), check=True)


def test_help_is_said_at_once():
    """In some twice of what importing the library of commands takes: 0.22 s beside 0.13 s."""

    def seconds(*words):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, *words]
        subprocess.run(command, env=environment(), check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    pairs = [
        (seconds("-m", "monograph", "--help"), seconds("-c", "import typer, typer.rich_utils"))
        for _ in range(3)
    ]
    assert min(ours / library for ours, library in pairs) < 2.2


def test_as_a_module(folder):
    """`python -m monograph` is the command."""
    command = [sys.executable, "-m", "monograph", "inspect", "relu.pt2"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert "relu.default" in done.stdout


def test_without_typer_it_says_what_is_missing(monkeypatch, capsys):
    """The commands are an extra."""
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "monograph.cli.commands")
    again = lazy_imports.deferred("monograph.cli.commands:app")
    monkeypatch.setattr(cli, "_commands", again)
    with pytest.raises(SystemExit):
        cli.main()
    assert "pip install 'monograph[cli]'" in capsys.readouterr().err
