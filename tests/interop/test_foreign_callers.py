"""Functions of PyTorch that want a program of torch.export say what to call for one of ours."""

import copy
import io

import pytest
import torch
import torch._inductor
from torch._export.serde.serialize import serialize
from torch.export.passes import move_to_device_pass
from torch.export.pt2_archive._package import package_pt2

import monograph

pytestmark = pytest.mark.filterwarnings("ignore")

CALLS = [
    (lambda program: torch.export.save(program, io.BytesIO()), "monograph.save(program, file)"),
    (
        lambda program: package_pt2(io.BytesIO(), exported_programs=program),
        "monograph.save(program, file)",
    ),
    (
        lambda program: package_pt2(io.BytesIO(), exported_programs={"model": program}),
        "monograph.save(program, file)",
    ),
    (lambda program: torch.save(program, io.BytesIO()), "monograph.save(program, file)"),
    (
        lambda program: torch.export.export(program, (X,)),
        "monograph.export(program.module(), ...)",
    ),
    (
        lambda program: torch.export.draft_export(program, (X,)),
        "monograph.export(program.module(), ...)",
    ),
    (lambda program: torch.onnx.export(program, (X,)), "program.to_onnx(file)"),
    (lambda program: torch.onnx.export(program, (X,), dynamo=False), "program.to_onnx(file)"),
    (torch._inductor.aoti_compile_and_package, "program.package(file)"),
    (lambda program: torch._inductor.aot_compile(program, (X,)), "program.package(file)"),
    (lambda program: torch._inductor.compile(program, (X,)), "program.compile()"),
    (torch.compile, "program.compile()"),
    (lambda program: torch.jit.trace(program, (X,)), "torch.jit.trace(program.module(), ...)"),
    (torch.jit.script, "torch.jit.trace(program.module(), ...)"),
    (torch.fx.symbolic_trace, "torch.fx.symbolic_trace(program.module())"),
    (torch.fx.Interpreter, "program.module()"),
    (torch.export.unflatten, "monograph.unflatten(program)"),
    (lambda program: move_to_device_pass(program, "cpu"), "program.to(device)"),
    (serialize, "program.to_torch()"),
]
MORE = {
    "prepare_pt2e(program.module(), ...)": (
        "torchao.quantization.pt2e.quantize_pt2e",
        lambda quantizing, program: quantizing.prepare_pt2e(program, None),
    ),
    "executorch.exir.to_edge(program.to_torch())": (
        "executorch.exir",
        lambda exir, program: exir.to_edge(program),
    ),
    "openvino.convert_model(program.to_torch())": (
        "openvino",
        lambda openvino, program: openvino.convert_model(program),
    ),
}
X = torch.ones(1, 2)


@pytest.fixture(scope="module")
def program():
    """Export a layer."""
    return monograph.export(torch.nn.Linear(2, 2), (X,))


@pytest.mark.parametrize(("call", "instead"), CALLS)
def test_what_to_call_is_said(program, call, instead):
    """In one line, by name."""
    with pytest.raises((monograph.MonographError, AttributeError)) as refused:
        call(program)
    assert instead in str(refused.value)


def test_functions_are_named_as_users_name_them(program):
    """The one that was called, not what asks within."""
    for name, call in (
        ("torch.jit.trace", lambda: torch.jit.trace(program, (X,))),
        ("torch.fx.symbolic_trace", lambda: torch.fx.symbolic_trace(program)),
        ("torch._inductor.compile", lambda: torch._inductor.compile(program, (X,))),
    ):
        with pytest.raises(monograph.HandOverError, match=f"{name} does not take") as refused:
            call()
        assert __file__.rpartition("/")[2] in str(refused.value)


class Holds(torch.nn.Module):
    """Calls a program that it holds."""

    def __init__(self, program):
        super().__init__()
        self.program, self.run = program, program.module()

    def forward(self, x):
        """Call it, and ask for its class."""
        assert not isinstance(self.program, torch.Tensor)
        return self.run(x) + 1


def test_what_only_holds_a_program_is_taken(program):
    """The functions that refuse one take a module or a function that uses one."""
    module = Holds(program)
    expected = module(X)
    torch.testing.assert_close(torch.jit.trace(module, (X,))(X), expected)
    torch.testing.assert_close(torch.fx.symbolic_trace(module)(X), expected)
    torch.testing.assert_close(torch.compile(module, backend="eager")(X), expected)
    torch.testing.assert_close(monograph.export(module, (X,)).module()(X), expected)


@pytest.mark.parametrize("instead", MORE)
def test_tools_that_are_there_say_what_to_call(program, instead):
    """The same of what may be installed."""
    name, call = MORE[instead]
    module = pytest.importorskip(name)
    with pytest.raises((monograph.MonographError, AttributeError)) as refused:
        call(module, program)
    assert instead in str(refused.value)


def test_a_program_is_none_of_torchs(program):
    """Questions of others are answered as ever, and copies made."""
    assert not isinstance(program, torch.export.ExportedProgram)
    assert isinstance(program, monograph.ExportedProgram)
    assert program.__class__ is type(program) is type(copy.copy(program))
    assert not hasattr(program, "_graph_module")
    with pytest.raises(AttributeError, match="no attribute 'anything'"):
        program.anything  # noqa: B018 - it is asked for
    with pytest.raises(AttributeError, match=r"program\.to_torch\(\)"):
        program._state_dict  # noqa: B018 - as tools ask for it
    with pytest.raises(AttributeError, match=r"program\.report"):
        program._report  # noqa: B018 - as torch.export's documents do
