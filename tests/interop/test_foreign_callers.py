"""Functions of PyTorch that want a program of torch.export say what to call for one of ours."""

import copy
import io

import pytest
import torch
import torch._inductor

import monograph

CALLS = {
    "monograph.save(program, file)": lambda program: torch.export.save(program, io.BytesIO()),
    "monograph.export(program.module(), ...)": lambda program: torch.export.export(program, (X,)),
    "program.to_onnx(file)": lambda program: torch.onnx.export(program, (X,)),
    "program.package(file)": torch._inductor.aoti_compile_and_package,
    "monograph.unflatten(program)": torch.export.unflatten,
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
