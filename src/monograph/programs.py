"""Multi-entry programs: several exported programs over one set of parameters and buffers.

Law: what is one tensor in the model is one tensor object in all entries, so what an entry writes
all others see. Each entry has its own contract and is called by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, cast

from monograph.diagnostics import problem
from monograph.lazy_imports import deferred
from monograph.program.contract import range_text
from monograph.program.signature import InputKind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import IO

    import torch

    from monograph.program.calling.program_module import ProgramModule
    from monograph.program.program import ExportedProgram

_all_with_state = deferred("monograph.program.transforms.state_assignment:all_with_state")
_load_all = deferred("monograph.archive:load_all")
_save = deferred("monograph.archive:save")
_all_to_onnx = deferred("monograph.interop.onnx_entries:all_to_onnx")
_verify = deferred("monograph.verification:verify")
_method_module = deferred("monograph.methods:method_module")


class Methods:
    """The entries of a program as functions, by name; they share the program's state."""

    def __init__(self, modules: Mapping[str, ProgramModule]) -> None:
        self._modules = dict(modules)
        self.__dict__.update(self._modules)

    def __getattr__(self, name: str) -> NoReturn:
        """Say which entries there are. Raises: AttributeError."""
        there = ", ".join(self.__dict__.get("_modules", ()))  # not yet there in a copy being made
        raise AttributeError(f"no entry is called {name!r}: there are {there}")

    def __dir__(self) -> list[str]:
        return list(self._modules)


class Programs(Mapping[str, "ExportedProgram"]):
    """Programs by name, over one state. Made by `export_methods`, `Programs.load`, or a pass.

    >>> import monograph, torch
    >>> entries = {"forward": monograph.call(torch.ones(1))}
    >>> monograph.export_methods(torch.nn.ReLU(), entries).module().forward(-torch.ones(1))
    tensor([0.])
    """

    def __init__(
        self,
        programs: Mapping[str, ExportedProgram],
        functions: Mapping[str, str | Callable[..., Any] | None] | None = None,
    ) -> None:
        """`functions` say what of the model each entry is; by default what has its name.

        Raises: entries-differ (a parameter or buffer has another type than in another entry).
        """
        self._programs = _sharing(programs)
        self.functions = dict(functions or {})

    def __getitem__(self, name: str) -> ExportedProgram:
        return self._programs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)

    @property
    def state_dict(self) -> dict[str, torch.Tensor]:
        """The parameters and persistent buffers of the model, each once."""
        return {name: each for p in self.values() for name, each in p.state_dict.items()}

    @property
    def sizes(self) -> dict[str, dict[str, str]]:
        """The range of each size that was named, as text, by its name and then by entry."""
        found: dict[str, dict[str, str]] = {}
        for entry, program in self.items():
            names = program.contract.names
            for symbol, lower, upper in program.contract.ranges:
                name = names.get(symbol, "")
                if name.isidentifier():
                    found.setdefault(name, {})[entry] = range_text(lower, upper)
        return found

    def module(self, check_guards: bool = True) -> Methods:  # noqa: FBT001, FBT002  (an option users set)
        """Return the entries as functions, by name, which share the state: `methods.decode(...)`.

        Their calls are checked as those of `ExportedProgram.module` are.

        Raises (a call): contract-broken.
        """
        return Methods({name: each.module(check_guards) for name, each in self.items()})

    def run_decompositions(
        self, decomp_table: Mapping[Any, Callable[..., Any]] | None = None
    ) -> Programs:
        """Return the entries without in-place operators, in simpler ones, over the same state.

        Raises: as `ExportedProgram.run_decompositions`, with the name of the entry.
        """
        return self._each(lambda program: program.run_decompositions(decomp_table))

    def with_state(
        self,
        state_dict: Mapping[str, torch.Tensor] | str | os.PathLike[str],
        *,
        key: Callable[[str], str] | None = None,
    ) -> Programs:
        """Return the entries over other tensors, shared and not copied; what is not given stays.

        The tensors, or the checkpoint, and `key` are those of `ExportedProgram.with_state`.

        Raises: weights-do-not-fit.
        """
        found = _all_with_state(self.values(), state_dict, key)
        return Programs(dict(zip(self, found, strict=True)), self.functions)

    def validate(self) -> None:
        """Check each entry as `ExportedProgram.validate` does. Raises: invalid-program."""
        for name, program in self.items():
            with entry(name):
                program.validate()

    def verify(self, model: torch.nn.Module, *, samples: int = 20, seed: int = 0) -> dict[str, Any]:
        """Return a Verification of each entry beside what it was captured of, by its name.

        `samples` and `seed` are those of `monograph.verify`, as is what is raised.
        Entries of a file are taken for the model's methods of their names, else for its forward.
        """
        found: dict[str, Any] = {}
        for name, program in self.items():
            with entry(name):
                module = _method_module(model, self.functions.get(name, name), is_guess=True)
                found[name] = _verify(program, module, samples=samples, seed=seed)
        return found

    def save(self, file: str | os.PathLike[str] | IO[bytes], **options: Any) -> None:
        """Write all entries into one `.pt2` file, weights once. `options` are those of `save`.

        Raises: archive-cannot-hold, archive-unknown-type, wrong-after-saving.
        """
        _save(self, file, **options)

    @classmethod
    def load(cls, file: str | os.PathLike[str] | IO[bytes], **options: Any) -> Programs:
        """Read all programs of a file; they share the memory that they shared when saved.

        `options` are `checksums`, `weights` and `state_dict` of `load`.

        Raises: as `load`.
        """
        state = options.pop("state_dict", None)
        found = cls(_load_all(file, **options))
        is_bare = any(tensor.is_meta for tensor in found.state_dict.values())
        if is_bare and options.get("weights") is not None:
            found = found.with_state(options["weights"])
        return found if state is None else found.with_state(state)

    def to_onnx(
        self, folder: str | os.PathLike[str], *, verify: bool = True, **options: Any
    ) -> dict[str, Path]:
        """Write an ONNX model for each entry, and one file of weights that all of them name.

        Raises: extra-not-installed, not-handed-over, wrong-after-handing-over, archive-cannot-hold.
        """
        return cast("dict[str, Path]", _all_to_onnx(self, folder, verify=verify, **options))

    def inspect(self) -> str:
        """Return the contract of each entry, and what they share, as text."""
        lines = [f"{len(self)} entries over {len(self.state_dict)} tensors"]
        for name, entries in self.sizes.items():
            if len(entries) > 1:
                lines.append(f"{name} is one size in {', '.join(entries)}")
        for name, program in self.items():
            lines += ["", f"entry {name!r}", *(f"  {e}" for e in str(program.contract).split("\n"))]
        return "\n".join(lines)

    def _each(self, change: Callable[[ExportedProgram], ExportedProgram]) -> Programs:
        found: dict[str, ExportedProgram] = {}
        for name, program in self.items():
            with entry(name):
                found[name] = change(program)
        return Programs(found, self.functions)

    def __str__(self) -> str:
        return self.inspect()

    def __repr__(self) -> str:
        return f"Programs({', '.join(self)})"


class entry:  # noqa: N801  (a context manager, used as a function)
    """Names the entry in what is raised within."""

    def __init__(self, name: str) -> None:
        self._note = f"this is the entry `{name}`"

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Add the name to each problem, or to an error of the model's own."""
        if error is None:
            return
        problems = getattr(error, "problems", ())
        for each in problems:
            diagnostic = each.diagnostic
            each.diagnostic = replace(diagnostic, notes=(self._note, *diagnostic.notes))
        if not problems:
            error.add_note(self._note)


def _sharing(programs: Mapping[str, ExportedProgram]) -> dict[str, ExportedProgram]:
    """The programs, in which what is one tensor by name and memory is one object.

    Raises: entries-differ.
    """
    first: dict[str, tuple[str, torch.Tensor]] = {}
    found: dict[str, ExportedProgram] = {}
    for entry_name, program in programs.items():
        signature = program.graph_signature
        own = {s.target for s in signature.input_specs if s.kind is InputKind.CONSTANT_TENSOR}
        tables: list[dict[str, Any]] = []
        for held in (program.state_dict, program.constants):
            table: dict[str, Any] = {}
            for name, tensor in held.items():
                other, known = first.setdefault(name, (entry_name, tensor))
                is_one = known is tensor or _is_one(known, tensor)
                if not is_one and name not in own:
                    raise problem("entries-differ", tensor=name, one=other, other=entry_name)
                table[name] = known if is_one else tensor
            tables.append(table)
        found[entry_name] = replace(program, state_dict=tables[0], constants=tables[1])
    return found


def _is_one(known: Any, tensor: Any) -> bool:
    """Whether two tensors are the same elements of the same memory, seen the same way."""
    kinds = ("dtype", "device", "layout", "shape", "requires_grad")
    if type(known) is not type(tensor):
        return False
    if any(getattr(known, kind) != getattr(tensor, kind) for kind in kinds):
        return False
    if str(known.layout) != "torch.strided" or known.stride() != tensor.stride():
        return False
    return (known.data_ptr(), known.is_conj(), known.is_neg()) == (
        tensor.data_ptr(),
        tensor.is_conj(),
        tensor.is_neg(),
    )


__all__ = ["Methods", "Programs", "entry"]
