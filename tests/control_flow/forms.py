"""The forms in which a program is run: as it is, lowered, as a file, as code, by torch.export."""

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

import monograph


def as_module(program: Any) -> Any:
    """As it is."""
    return program.module()


def decomposed(program: Any) -> Any:
    """In core ATen, without writes."""
    return program.run_decompositions().module()


def frozen(program: Any) -> Any:
    """As it is, with its state constant."""
    return program.module(freeze=True)


def frozen_decomposed(program: Any) -> Any:
    """Lowered, with its state constant."""
    return program.run_decompositions().module(freeze=True)


def unflattened(program: Any) -> Any:
    """With the module hierarchy of the original."""
    return monograph.unflatten(program)


def file_of(program: Any) -> io.BytesIO:
    """Saved."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return file


def loaded(program: Any) -> Any:
    """Saved and loaded."""
    return monograph.load(file_of(program)).module()


def loaded_decomposed(program: Any) -> Any:
    """Lowered, saved and loaded."""
    return monograph.load(file_of(program.run_decompositions())).module()


def in_stock(program: Any) -> Any:
    """Saved, and loaded by torch.export."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.export.load(file_of(program)).module()

    def run(*args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return module(*args)

    return run


def spelt(program: Any) -> Any:
    """As Python code."""
    namespace: dict[str, Any] = {}
    exec(program.to_python(), namespace)
    state = {**program.state_dict, **program.constants}
    return lambda *args: namespace["forward"](state, *args)


FORMS = (
    *(as_module, decomposed, frozen, frozen_decomposed, unflattened, loaded, loaded_decomposed),
    *(in_stock, spelt),
)


def made_forms(program: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each form by name, and what makes a callable of it.

    State that calls write to is each form's own: all begin with that of the program.
    """
    state = {
        tensor: tensor.detach().clone()
        for tensor in (*program.state_dict.values(), *program.constants.values())
        if isinstance(tensor, torch.Tensor)
    }
    for form in FORMS:
        with torch.no_grad():
            for tensor, begun in state.items():
                tensor.copy_(begun)
        yield form.__name__, partial(form, program)


@contextlib.contextmanager
def naming(form: str) -> Iterator[None]:
    """Say of what fails inside in which form it does."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the form {form!r}")
        raise
