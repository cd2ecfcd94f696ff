"""Functions of PyTorch that want a program of torch.export say what to call for one of ours."""

import copy
import io

import pytest
import torch
import torch._inductor
from torch.export.passes import move_to_device_pass

import monograph

CALLS = {
    "monograph.save(program, file)": lambda program: torch.export.save(program, io.BytesIO()),
    "monograph.export(program.module(), ...)": lambda program: torch.export.export(program, (X,)),
    "program.to_onnx(file)": lambda program: torch.onnx.export(program, (X,)),
    "program.package(file)": torch._inductor.aoti_compile_and_package,
    "monograph.unflatten(program)": torch.export.unflatten,
    "program.to(device)": lambda program: move_to_device_pass(program, "cpu"),
}
MORE = {
    "monograph.export(program.module(), ...)": (
        "torch.export",
        lambda torch_export, program: torch_export.draft_export(program, (X,)),
    ),
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


@pytest.mark.parametrize("instead", CALLS)
def test_what_to_call_is_said(program, instead):
    """In one line, by name."""
    with pytest.raises((monograph.MonographError, AttributeError)) as refused:
        CALLS[instead](program)
    assert instead in str(refused.value)


@pytest.mark.filterwarnings("ignore")
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
