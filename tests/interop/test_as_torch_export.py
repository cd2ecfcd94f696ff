"""Unmodified tools of others capture here: the functions of torch.export, for one thread."""

import copy
import importlib
import importlib.util
import inspect
import logging
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import pytest
import torch
from torch.export import Dim
from torch.export import draft_export as drafted_by_name
from torch.export import export as exported_by_name

import monograph
from tests.archive.peers import quietly
from tests.interop.programs import Attention, Counts, Net
from tests.interop.test_onnx import needs
from tests.seeding import reseed

SIGNATURE = inspect.signature(torch.export.export)


class Mixed(torch.nn.Module):
    """Takes and gives structures; one part is called twice."""

    def __init__(self):
        super().__init__()
        self.part = Net()

    def forward(self, given, *, scale):
        first, second = given["images"]
        return {"sum": self.part(first) + self.part(second), "scaled": first * scale}


class Draws(torch.nn.Module):
    """What is refused here, and captured there as a constant."""

    def forward(self, x):
        """Add the time."""
        return x + int(time.time())


class Raises(torch.nn.Module):
    """What eager code raises is no refusal."""

    def forward(self, x):
        """Ask for what is not there."""
        return {}["missing"] + x


class Counting:
    """Counts the exports that run here, by what logs them: calls of `monograph.export`."""

    def __init__(self, monkeypatch):
        self.calls = 0
        here = monograph.interop.replacement
        for name in ("_export", "_draft_export"):
            monkeypatch.setattr(here, name, self.counted(getattr(here, name)))

    def counted(self, export):
        """Count a function's calls."""

        def call(*args, **kwargs):
            self.calls += 1
            return export(*args, **kwargs)

        return call


@pytest.fixture
def counting(monkeypatch):
    """How often programs were captured here."""
    return Counting(monkeypatch)


def ask(export=None, module=None, **options):
    """Export a small network by somebody's function of torch.export."""
    reseed(0)
    with quietly():
        return (export or torch.export.export)(
            module or Net().eval(), (torch.randn(2, 3, 6, 6),), **options
        )


@pytest.mark.parametrize("name", ["export", "draft_export"])
def test_functions_that_were_imported_by_name_capture_here(name, counting):
    """Their identity and signature stay; what they return is torch's, with the module's weights."""
    function = {"export": exported_by_name, "draft_export": drafted_by_name}[name]
    module = Net().eval()
    with monograph.as_torch_export():
        assert getattr(torch.export, name) is function
        assert inspect.signature(torch.export.export) == SIGNATURE
        program = ask(function, module)
    assert counting.calls == 1
    assert type(program) is torch.export.ExportedProgram
    assert program.state_dict["out.weight"] is module.out.weight
    x = torch.randn(2, 3, 6, 6)
    torch.testing.assert_close(program.module()(x), module(x))


def test_other_threads_and_what_comes_after_are_left_alone(counting):
    """A thread that is not inside runs torch's own, and so does this one afterwards."""
    code = torch.export.export.__code__
    found = []
    with monograph.as_torch_export():
        thread = threading.Thread(target=lambda: found.append(ask()))
        thread.start()
        thread.join()
    assert type(found[0]) is torch.export.ExportedProgram
    assert counting.calls == 0
    ask()
    assert counting.calls == 0
    assert torch.export.export.__code__ is code
    assert inspect.signature(torch.export.export) == SIGNATURE


def test_threads_leave_in_any_order(counting):
    """The first that leaves takes nothing from the others."""
    entered, leave = threading.Event(), threading.Event()

    def other():
        with monograph.as_torch_export():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(60)
    with monograph.as_torch_export():
        leave.set()
        thread.join()
        ask()
    assert counting.calls == 1


def test_refusals_reach_the_caller():
    """As the diagnostic that they are; the functions are as before."""
    code = torch.export.export.__code__
    with pytest.raises(monograph.MonographError) as refused, monograph.as_torch_export():
        ask(module=Draws())
    assert "time.time" in str(refused.value)
    assert torch.export.export.__code__ is code


def test_fallbacks_are_reported_and_innermost(counting):
    """A warning names the refusal, at the line of the call; torch captures."""
    with monograph.as_torch_export(fallback=True):
        with pytest.warns(UserWarning, match=r"error\[outside-read\]") as said:
            program = torch.export.export(Draws(), (torch.ones(2),))
        with monograph.as_torch_export(), pytest.raises(monograph.MonographError):
            ask(module=Draws())
    assert [each.filename for each in said if "refused" in str(each.message)] == [__file__]
    assert type(program) is torch.export.ExportedProgram
    assert counting.calls == 2


def test_what_a_model_raises_is_not_handed_over():
    """Torch would raise it again."""
    with monograph.as_torch_export(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError, match="missing"):
            torch.export.export(Raises(), (torch.ones(2),))


SHAPES = {
    "named": lambda: {"image": {0: Dim("batch", min=1, max=64)}},
    "derived": lambda: {"image": {0: 2 * Dim("half", min=1, max=32)}},
    "automatic": lambda: {"image": {0: Dim.AUTO}},
    "positional": lambda: ((Dim.DYNAMIC, None, None, None),),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_sizes_are_declared_as_ever(kind):
    """With torch's own objects; ranges are torch's."""
    module = Net().eval()
    with monograph.as_torch_export():
        program = ask(module=module, dynamic_shapes=SHAPES[kind]())
    for batch in (2, 4, 8):
        x = torch.randn(batch, 3, 6, 6)
        torch.testing.assert_close(program.module()(x), module(x))
    assert len(program.range_constraints) >= 1


class Positions(torch.nn.Module):
    """Its sides give sizes of their own, which torch's lowering takes for unknown ones."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(1, 16, 4))

    def forward(self, x):
        rows, columns = x.shape[1], x.shape[2]
        torch._assert(rows >= 2, f"{rows} rows are too few")  # a text that plain Python makes
        if rows * columns == 16 and rows == columns:
            table = self.table
        else:
            image = self.table.reshape(1, 4, 4, 4).permute(0, 3, 1, 2)
            image = torch.nn.functional.interpolate(image, (rows, columns), mode="bilinear")
            table = image.permute(0, 2, 3, 1).reshape(1, -1, 4)
        return x.reshape(x.shape[0], -1, 4) + table


def test_branches_on_sizes_go_the_way_of_the_example():
    """As torch.export has them, so that torch lowers the program; our own keeps both ways."""
    module, given, auto = Positions(), (torch.randn(2, 3, 5, 4),), Dim.AUTO
    shapes = ({0: auto, 1: auto, 2: auto},)
    with monograph.as_torch_export(), quietly():
        program = torch.export.export(module, given, dynamic_shapes=shapes)
        lowered = program.run_decompositions().module()
    for sizes in ((5, 2), (6, 6)):
        x = torch.randn(2, *sizes, 4)
        torch.testing.assert_close(lowered(x), module(x))
    ours = monograph.export(module, given, dynamic_shapes=shapes)
    assert "cond" in str(ours.graph)


@pytest.mark.parametrize("strict", [False, True])
def test_collections_and_additional_inputs_of_torch(strict):
    """Both are asked for their declaration; additional inputs verify the program."""
    module, images = Net().eval(), (torch.randn(2, 3, 6, 6), torch.randn(2, 3, 6, 6))
    model = Mixed().eval()
    shapes = torch.export.ShapesCollection()
    for image in images:
        shapes[image] = {0: Dim("batch")}
    more = torch.export.AdditionalInputs()
    more.add((torch.randn(5, 3, 6, 6),))
    with monograph.as_torch_export(), quietly():
        program = torch.export.export(
            model, ({"images": images},), {"scale": 2.0}, dynamic_shapes=shapes, strict=strict
        )
        other = torch.export.export(module, (images[0],), dynamic_shapes=more, strict=strict)
    given = {"images": (torch.randn(7, 3, 6, 6), torch.randn(7, 3, 6, 6))}
    found, expected = program.module()(given, scale=2.0), model(given, scale=2.0)
    torch.testing.assert_close(found, expected)
    x = torch.randn(9, 3, 6, 6)
    torch.testing.assert_close(other.module()(x), module(x))


def test_calls_that_are_kept_and_the_flag_for_assertions():
    """What torch.export is told by keyword."""
    images = (torch.randn(2, 3, 6, 6), torch.randn(2, 3, 6, 6))
    model = Mixed().eval()
    with monograph.as_torch_export(), quietly():
        program = torch.export.export(
            mod=model,
            args=({"images": images},),
            kwargs={"scale": 2.0},
            preserve_module_call_signature=("part",),
            prefer_deferred_runtime_asserts_over_guards=True,
        )
    kept = {each.fqn for each in program.module_call_graph if each.signature is not None}
    assert kept == {"", "part", "part@1"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's unflatten, of torch's own programs too
        found = torch.export.unflatten(program)({"images": images}, scale=2.0)
    torch.testing.assert_close(found, model({"images": images}, scale=2.0))


def test_drafts_say_what_they_went_past():
    """The report has torch's class, and names our problems."""
    with monograph.as_torch_export():
        assert ask(torch.export.draft_export)._report.successful()
        program = torch.export.draft_export(Draws(), (torch.ones(2),))
    assert not program._report.successful()
    assert "time.time" in str(program._report)


def test_state_and_its_updates():
    """Buffers that a call writes to."""
    reseed(0)
    module, example = Counts(), (torch.randn(5, 4), {"a": torch.ones(8)})
    with monograph.as_torch_export(), quietly():
        program = torch.export.export(module, example)
    expected = copy.deepcopy(module)(*example)
    torch.testing.assert_close(program.module()(*example), expected)


@needs("onnx", "onnxscript", "onnxruntime")
@pytest.mark.parametrize("make", [Net, Attention, Mixed])
def test_onnx_of_modules(make, counting):
    """`torch.onnx.export(module, dynamo=True)`, and the model that torch's own capture gives."""
    reseed(0)
    module = make().eval()
    image = torch.randn(2, 3, 6, 6)
    args, kwargs = {
        Net: ((image,), {}),
        Attention: ((torch.randint(0, 16, (2, 5)),), {}),
        Mixed: (({"images": (image, image + 1)},), {"scale": torch.tensor(2.0)}),
    }[make]
    batch = {0: Dim.DYNAMIC}
    shapes = {
        Net: {"image": batch},
        Attention: {"ids": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}},
        Mixed: {"given": {"images": (batch, batch)}, "scale": {}},
    }[make]
    options = {"kwargs": kwargs, "dynamic_shapes": shapes, "dynamo": True, "verbose": False}
    with monograph.as_torch_export(), quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.onnx.export(module, args, **options)
    assert counting.calls == 1
    larger = torch.utils._pytree.tree_map(lambda x: torch.cat([x, x]) if x.ndim else x, args)
    for given in (args, larger):
        expected = torch.utils._pytree.tree_leaves(module(*given, **kwargs))
        torch.testing.assert_close([*made(*given, **kwargs)], expected, rtol=1e-4, atol=1e-5)


@needs("torchao")
@pytest.mark.filterwarnings("ignore")
def test_torchao_quantises(counting):
    """PT2E on what torch.export gives inside: the numbers of torch's own capture."""
    from torchao.quantization.pt2e import quantize_pt2e  # noqa: PLC0415
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86  # noqa: PLC0415

    def quantised():
        quantizer = x86.X86InductorQuantizer()
        quantizer.set_global(x86.get_default_x86_inductor_quantization_config())
        prepared = quantize_pt2e.prepare_pt2e(ask().module(), quantizer)
        prepared(x)
        return quantize_pt2e.convert_pt2e(prepared)

    x = torch.randn(2, 3, 6, 6)
    expected = quantised()(x)
    with monograph.as_torch_export(), quietly():
        found = quantised()(x)
    assert counting.calls == 1
    torch.testing.assert_close(found, expected)


@needs("executorch")
@pytest.mark.filterwarnings("ignore")
def test_executorch_lowers(counting):
    """The recipe for XNNPACK, run by ExecuTorch's runtime."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (  # noqa: PLC0415
        XnnpackPartitioner,
    )
    from executorch.exir import to_edge_transform_and_lower  # noqa: PLC0415
    from executorch.runtime import Runtime  # noqa: PLC0415

    module = Net().eval()
    with monograph.as_torch_export(), quietly():
        program = ask(module=module)
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert counting.calls  # ExecuTorch exports its own patterns, too
    buffer = lowered.to_executorch().buffer
    loaded = Runtime.get().load_program(buffer)  # a method does not keep it
    method = loaded.load_method("forward")
    x = torch.randn(2, 3, 6, 6)
    torch.testing.assert_close(method.execute([x])[0], module(x), rtol=1e-3, atol=1e-4)


SCRIPT = """
import sys
import torch
from torch.export import export
import neighbour

class Module(torch.nn.Module):
    def forward(self, x):
        return x * 2

if __name__ == "__main__":
    program = export(Module(), (torch.ones(3),))
    print(sys.argv[1:], type(program).__module__, export.__code__.co_filename, neighbour.HERE)
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_scripts_run_as_python_runs_them(as_module, tmp_path):
    """With their arguments, beside their neighbours, as `__main__`."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "neighbour.py").write_text("HERE = 'neighbour'\n")
    named = ["-m", "script"] if as_module else ["script.py"]
    command = [sys.executable, "-m", "monograph.as_torch_export", *named, "--flag", "value"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert "['--flag', 'value'] torch.export.exported_program" in done.stdout
    assert "replacement.py neighbour" in done.stdout


def test_the_module_of_the_same_name_is_callable():
    """Whoever imports it finds what the package's name says."""
    module = importlib.import_module("monograph.as_torch_export")
    with module():
        pass
    assert importlib.util.find_spec("monograph.as_torch_export") is not None


def test_what_is_not_checked_is_said_once(caplog):
    """A condition that many programs share is no news with each."""

    class Multiplies(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.linear(x, x).expand(3, 2, 2)

    with monograph.as_torch_export(), caplog.at_level(logging.WARNING, "monograph.interop"):
        for _ in range(3):
            torch.export.export(Multiplies(), (torch.ones(2, 2),))
    assert len([each for each in caplog.messages if "does not check" in each]) <= 1
