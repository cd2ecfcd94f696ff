"""`verify` and `compare`: what is right is called right, and everything is left as it was."""

import contextlib
import json
import types

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim, cli
from monograph.verification.legal_inputs import LegalInputs
from monograph.verification.verdict import EVIDENCE
from tests.verification.faults import (
    BATCH,
    Attention,
    Counter,
    Mlp,
    Pooled,
    Views,
    Writes,
    images,
    rows,
    square,
    two,
    words,
)

EXAMPLE = {"n": 1, "h": 32, "w": 32}
RIGHT = {
    "mlp": (Mlp, rows, BATCH),
    "state": (Counter, square, None),
    "pooled": (Pooled, images, ({0: Dim("n"), 2: Dim("h", min=4), 3: Dim("w", min=4)},)),
    "views": (Views, square, ({0: Dim.AUTO, 1: Dim.AUTO},)),
    "attention": (Attention, words, ({0: Dim("batch"), 1: Dim("time")},)),
    "writes": (Writes, two, None),
}


@pytest.fixture(params=RIGHT.values(), ids=RIGHT)
def right(request):
    """A module, its program, and its example."""
    module, example, shapes = request.param
    torch.manual_seed(0)
    module = module().eval()
    return module, monograph.export(module, example(), dynamic_shapes=shapes), example()


@pytest.mark.parametrize("form", ["plain", "lowered", "loaded", "half"])
def test_right_in_every_form(right, form, tmp_path):
    """No difference is found where there is none: lowered, from a file, and in bfloat16."""
    module, program, example = right
    if form == "lowered":
        program = program.run_decompositions()
    if form == "loaded":
        monograph.save(program, tmp_path / "program.pt2")
        program = monograph.load(tmp_path / "program.pt2")
    if form == "half":
        module = module.to(torch.bfloat16)
        program = monograph.export(module, tuple(x.to(torch.bfloat16) for x in example))
    found = monograph.verify(program, module)
    assert found, found
    assert any(sample.verdict == "equal" for sample in found.samples)
    assert all(sample.verdict == "refused" for sample in found.samples if not sample.legal)


def test_sizes_are_unlike_the_example(right):
    """Sizes that vary are drawn, 0 and 1 and others."""
    _, program, _ = right
    if not program.contract.ranges:
        return
    found = monograph.verify(program, program.module(), samples=40)
    calls = {sample.call for sample in found.samples if sample.legal}
    assert len(calls) > 20
    assert any("=0" in call for call in calls) or all(low for _, low, _ in program.contract.ranges)


def test_leaves_everything_as_it_was(right):
    """State, flags, gradients, and the random generator are as before."""
    module, program, _ = right
    before = {name: each.clone() for name, each in module.state_dict().items()}
    generator, mode = torch.random.get_rng_state(), module.training
    grads = [each.grad for each in module.parameters()]
    monograph.verify(program, module, samples=6)
    for name, each in module.state_dict().items():
        assert torch.equal(each, before[name])
    assert torch.equal(torch.random.get_rng_state(), generator)
    assert module.training == mode
    assert [each.grad for each in module.parameters()] == grads


def test_same_seed_same_calls(right):
    """A verification can be repeated."""
    module, program, _ = right
    one = monograph.verify(program, module, samples=6, seed=3)
    other = monograph.verify(program, module, samples=6, seed=3)
    assert one == other
    assert one.evidence == other.evidence


def test_evidence_travels_with_the_file(right, tmp_path):
    """A file that holds evidence is verified without its module; one with other weights is not."""
    module, program, _ = right
    file = tmp_path / "program.pt2"
    evidence = monograph.verify(program, module).extra_files
    monograph.save(program, file, extra_files=evidence)
    assert monograph.verify(file)
    if program.state_dict:
        name = next(n for n, each in program.state_dict.items() if each.is_floating_point())
        with torch.no_grad():
            program.state_dict[name].add_(0.5)
        monograph.save(program, file, extra_files=evidence)
        assert not monograph.verify(file)


def test_nothing_to_compare_with(right, tmp_path):
    """A file without evidence, and functions without contracts."""
    _, program, _ = right
    monograph.save(program, tmp_path / "program.pt2")
    with pytest.raises(monograph.HandOverError, match="nothing-to-verify-against"):
        monograph.verify(tmp_path / "program.pt2")
    with pytest.raises(monograph.HandOverError, match="nothing-to-verify-against"):
        monograph.compare(torch.sin, torch.cos)
    with torch.device("meta"):
        layer = torch.nn.Linear(3, 2)
    empty = monograph.export(layer, (torch.empty(4, 3, device="meta"),))
    with pytest.raises(ValueError, match="tensors of the meta device have no values"):
        monograph.verify(empty, layer)
    with pytest.raises(ValueError, match="samples must be at least 1"):
        monograph.verify(program, torch.sin, samples=0)
    with pytest.raises(TypeError, match="a program or the name of a file, not int"):
        monograph.verify(3, torch.sin)


def test_compare_programs_files_and_torch_export(tmp_path):
    """Two programs, a file, a program of torch.export, and a function."""
    torch.manual_seed(0)
    module = Mlp().eval()
    program = monograph.export(module, rows(), dynamic_shapes=BATCH)
    file = tmp_path / "program.pt2"
    monograph.save(program, file)
    peer = torch.export.export(module, rows())
    for one, other in [
        (program, program.run_decompositions()),
        (file, program),
        (peer, program),
        (module, program),
        (program, module.forward),
    ]:
        found = monograph.compare(one, other, samples=6)
        assert found, found
    assert not monograph.compare(program, Mlp().eval(), samples=6)


def test_a_program_nobody_can_call_is_not_right():
    """Where no call was compared, nothing was verified."""

    class Raises(nn.Module):
        def forward(self, x):
            return x.view(7)

    program = monograph.export(nn.ReLU(), (torch.randn(3),))
    found = monograph.verify(program, Raises())
    assert not found
    assert found.differences[0].difference.kind == "raises"


def test_as_json_and_html(right):
    """A table for people, and for tools."""
    module, program, _ = right
    found = monograph.verify(program, module, samples=4)
    data = json.loads(found.as_json())
    assert data["right"] is True
    assert len(data["samples"]) == len(found.samples)
    page, shown = found.as_html(), found._repr_html_()
    assert page.count("<tr>") == shown.count("<tr>") == len(found.samples) + 1
    assert page.startswith("<!doctype html>")
    assert "<script" not in shown
    assert found.summary() in shown
    assert str(found) == found.summary()


def test_what_varies_by_itself_is_no_difference():
    """A module that gives something else each time cannot be compared."""

    class Varies(nn.Module):
        def forward(self, x):
            return x + next(numbers)

    numbers = iter(range(1000))
    program = monograph.export(nn.ReLU(), (torch.randn(3),))
    found = monograph.verify(program, Varies(), samples=3)
    assert not found
    assert {sample.verdict for sample in found.samples if sample.legal} == {"varies"}
    assert found.summary().startswith("nothing was compared")


def test_a_history_that_a_module_keeps_is_no_difference():
    """Eager's second backward pass goes through what the first call kept; ours is made anew."""

    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = nn.Parameter(torch.randn(5))
            self.kept = {}

        def forward(self, x):
            if "bias" not in self.kept:
                self.kept["bias"] = self.bias.exp()
            return x + self.kept["bias"]

    module = Keeps().eval()
    found = monograph.verify(monograph.export(module, (torch.randn(3, 5),)), module, samples=6)
    assert found, found


def test_memory_is_compared_by_bytes():
    """A view that another library made of an input shares its memory, whatever its storage is."""

    class Exchanged(nn.Module):
        def forward(self, x):
            return torch.from_dlpack(x), x[1:]

    module = Exchanged()
    program = monograph.export(module, (torch.randn(4, 3),))
    found = monograph.verify(program, module, samples=30)
    assert found, found


@pytest.mark.parametrize(
    "results",
    [
        [5],
        [[5]],
        [[["x"]]],
        [[[{"dtype": "torch.float32"}]]],
        [[[{"dtype": "torch.float32", "numbers": ["x"], "greatest": "1"}]]],
        [[[{"dtype": "torch.float32", "numbers": [1.5], "greatest": "1"}]]],
        {"0": []},
        [],
    ],
)
def test_evidence_of_another_form_is_none(results, tmp_path):
    """What a file holds is checked before it is compared with."""
    program = monograph.export(nn.ReLU(), (torch.randn(3),))
    text = json.dumps({"form": 1, "samples": len(results), "seed": 0})
    text = json.dumps(json.loads(text) | {"versions": {}, "results": results})
    file = tmp_path / "program.pt2"
    monograph.save(program, file, extra_files={"verification.json": text})
    with pytest.raises(monograph.HandOverError, match="nothing-to-verify-against"):
        monograph.verify(file)


def test_evidence_that_is_short_is_a_difference(tmp_path):
    """Fewer numbers than the program gives, or results that it does not give."""
    program = monograph.export(nn.ReLU(), (torch.randn(3),))
    file = tmp_path / "program.pt2"
    whole = monograph.verify(program, nn.ReLU(), samples=2).evidence
    for change in ({"numbers": []}, {"shape": [4]}, {"dtype": "torch.float64"}):
        evidence = json.loads(json.dumps(whole))
        evidence["results"][0][0][0] |= change | {"sha256": ""}
        text = json.dumps(evidence)
        monograph.save(program, file, extra_files={"verification.json": text})
        assert not monograph.verify(file)


def test_saved_with_its_module_it_is_compared_and_holds_evidence(tmp_path):
    """Another module is refused, and no file is written; several programs have no one module."""
    layer = torch.nn.Linear(3, 4)
    program = monograph.export(layer, (torch.ones(2, 3),), dynamic_shapes="input: n, 3")
    file = tmp_path / "layer.pt2"
    with pytest.raises(monograph.ArchiveError, match="archive-unlike-module"):
        monograph.save(program, file, module=torch.nn.Linear(3, 4))
    assert not file.exists()
    with pytest.raises(ValueError, match="one module"):
        monograph.save({"a": program, "b": program}, file, module=layer)
    monograph.save(program, file, module=layer)
    assert monograph.verify(file)


class Session:
    """What a session of ONNX Runtime looks like, around a function."""

    def __init__(self, function, names):
        self._function, self._names = function, names

    def get_inputs(self):
        return [types.SimpleNamespace(name=name) for name in self._names]

    def run(self, _, given):
        found = self._function(*[torch.from_numpy(given[name]) for name in self._names])
        return [found.detach().numpy()]


def test_what_was_handed_over_is_compared_with_evidence(tmp_path):
    """A callable, or a session; wrong ones, and ones that take something else, are told."""
    layer = torch.nn.Linear(3, 4)
    program = monograph.export(layer, (torch.ones(2, 3),), dynamic_shapes="input: n, 3")
    file = tmp_path / "layer.pt2"
    monograph.save(program, file, module=layer)
    assert monograph.verify(file, handed_over=Session(layer, ["x"]))
    assert monograph.verify(file, handed_over=lambda x: (layer(x), 3))
    assert monograph.verify(program, layer, handed_over=layer, samples=3)
    wrong = monograph.verify(file, handed_over=Session(lambda x: layer(x) + 0.1, ["x"]))
    assert not wrong
    assert "became of" in str(wrong.differences[0].difference)
    other = monograph.verify(file, handed_over=Session(layer, ["x", "y"]))
    assert "it takes 2 tensors" in str(other.differences[0].difference)
    with pytest.raises(TypeError, match="not int"):
        monograph.verify(file, handed_over=3)
    with pytest.raises(ValueError, match=r"\.onnx, \.pt2, \.xml, \.pte is called; not layer\.bin"):
        monograph.verify(file, handed_over="layer.bin")
    (tmp_path / "text.pt2").write_text("no archive", encoding="utf-8")
    with pytest.raises(monograph.ArchiveError):
        monograph.verify(file, handed_over=tmp_path / "text.pt2")


def test_draws_cost_at_most_four_examples_or_a_second():
    """A convolution of many channels is drawn small, one of few is drawn large."""
    shapes = ({0: Dim("n"), 2: Dim("h", min=4), 3: Dim("w", min=4)},)
    work = {}
    for channels in (2, 512):
        layer = nn.Conv2d(channels, channels, 3, padding=1)
        program = monograph.export(layer, (torch.ones(1, channels, 32, 32),), dynamic_shapes=shapes)
        draws = [LegalInputs(program, 0).draw(number) for number in range(40)]
        flops = [monograph.estimate(program, draw.sizes).flops for draw in draws]
        work[channels] = max(flops) / monograph.estimate(program, draws[0].sizes | EXAMPLE).flops
    assert 1 < work[512] <= 4
    assert work[2] > 40


class KeepsHistory(nn.Module):
    """Writes to a buffer in place what has a history: the second backward pass raises."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        """Return the total so far, weighted, and what was returned last."""
        last = self.last.clone()
        self.total.add_(x)
        self.last.copy_(self.total * self.weight + last)
        return self.last * 2


class Forgets(KeepsHistory):
    """The same numbers; what it keeps has no history."""

    def forward(self, x):
        """Return the total so far, weighted, and what was returned last."""
        found = super().forward(x)
        self.last.detach_()
        return found


def test_history_in_the_state_of_a_module_is_no_difference():
    """Its second backward pass raises; a program that keeps numbers alone has gradients."""
    module, x = KeepsHistory(), torch.ones(3)
    for again in (False, True):
        raises = pytest.raises(RuntimeError, match="modified by an inplace operation")
        with raises if again else contextlib.nullcontext():
            module(x).sum().backward(retain_graph=True)
    program = monograph.export(Forgets(), (x,))
    found = monograph.verify(program, KeepsHistory(), samples=3)
    assert found, found


def test_evidence_knows_its_draws(tmp_path):
    """A lowered program has other costs, and is called with what the evidence was made of."""
    layer, file = nn.Linear(3, 4), tmp_path / "layer.pt2"
    program = monograph.export(layer, (torch.ones(2, 3),), dynamic_shapes="input: n, 3")
    found = monograph.verify(program, layer, samples=5)
    evidence = json.loads(found.extra_files[EVIDENCE])
    assert evidence["draws"][0] == [0, [2]]
    monograph.save(program.run_decompositions(), file, extra_files=found.extra_files)
    again = monograph.verify(file)
    assert again
    assert [each.call for each in again.samples] == [e.call for e in found.samples if e.legal]


@pytest.mark.parametrize("draw", [[0, [-1]], [0, [2, 2]], [0, []], [0, ["2"]], 3, None])
def test_draws_that_the_contract_forbids_are_no_evidence(tmp_path, draw):
    """Negative sizes, sizes of another program, and what are no sizes."""
    layer, file = nn.Linear(3, 4), tmp_path / "layer.pt2"
    program = monograph.export(layer, (torch.ones(2, 3),), dynamic_shapes="input: n, 3")
    found = monograph.verify(program, layer, samples=2)
    evidence = json.loads(found.extra_files[EVIDENCE])
    evidence["draws"][1] = draw
    monograph.save(program, file, extra_files={EVIDENCE: json.dumps(evidence)})
    with pytest.raises(monograph.HandOverError, match="nothing to"):
        monograph.verify(file)


def test_files_of_torch_export_are_compared_with_evidence(tmp_path):
    """What torch.export saved of the program, and of another one."""
    layer = torch.nn.Linear(3, 4)
    program = monograph.export(layer, (torch.ones(2, 3),), dynamic_shapes="input: n, 3")
    file, theirs = tmp_path / "layer.pt2", tmp_path / "theirs.pt2"
    monograph.save(program, file, module=layer)
    torch.export.save(program.to_torch(), theirs)
    assert monograph.verify(file, handed_over=theirs)
    other = monograph.export(
        torch.nn.Linear(3, 4), (torch.ones(2, 3),), dynamic_shapes="input: n, 3"
    )
    torch.export.save(other.to_torch(), theirs)
    assert not monograph.verify(file, handed_over=theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("package", "end"), [("openvino", "xml"), ("executorch", "pte")])
def test_files_of_other_systems_are_compared_with_evidence(tmp_path, package, end):
    """What the command line made of a program, and of one with other weights."""
    pytest.importorskip(package)
    for name in ("right", "wrong"):
        layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU())
        program = monograph.export(
            layer, (torch.ones(2, 3),), dynamic_shapes="input: n, 3; n <= 99"
        )
        monograph.save(program, tmp_path / f"{name}.pt2", module=layer)
        assert (
            cli.convert(str(tmp_path / f"{name}.pt2"), str(tmp_path / f"{name}.{end}"), to=package)
            == 0
        )
    found = monograph.verify(tmp_path / "right.pt2", handed_over=tmp_path / f"right.{end}")
    assert found, found
    assert not monograph.verify(tmp_path / "right.pt2", handed_over=tmp_path / f"wrong.{end}")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_machine_code_is_compared_with_evidence(tmp_path):
    """What AOTInductor made of a program."""
    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU())
    program = monograph.export(layer, (torch.ones(2, 3),), dynamic_shapes="input: n, 3")
    monograph.save(program, tmp_path / "layer.pt2", module=layer)
    program.package(tmp_path / "compiled.pt2")
    found = monograph.verify(tmp_path / "layer.pt2", handed_over=tmp_path / "compiled.pt2")
    assert found, found
    with pytest.raises(monograph.MonographError, match="nothing-to-verify-against"):
        monograph.verify(program, handed_over=layer)
