"""Loading: from a file nobody vouches for to a verified program.

Law: nothing in a file is run, imported, unpickled or believed before it is checked; what cannot be
read is refused with the member and the reason. A program saved here has the contract it was saved
with; one saved by torch.export has the conditions that its file states.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.archive.container import open_container
from monograph.archive.foreign import (
    foreign_contract,
    foreign_names,
    foreign_symbols,
    written_inputs,
)
from monograph.archive.graph_reading import GraphReader
from monograph.archive.pickle_reading import unpickled
from monograph.archive.refusals import Refused, reading
from monograph.archive.shapes import listed, mapping, parse_json, text
from monograph.archive.side_record import read_side, restore_frames, restore_values
from monograph.archive.signatures import read_argument, read_signature
from monograph.archive.structures import read_structure
from monograph.archive.values import ValueReader
from monograph.archive.versions import ARCHIVE_VERSION, check_schema
from monograph.archive.weights import TensorReader
from monograph.diagnostics import MonographError, problem
from monograph.program import (
    ConstantArgument,
    ExportedProgram,
    InputKind,
    ModuleCallEntry,
    ModuleCallSignature,
    Report,
    ValueClause,
    ranges_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    import torch

    from monograph.archive.container import Container
    from monograph.archive.side_record import SideRecord
    from monograph.archive.symbols import SymbolReader
    from monograph.archive.values import Json
    from monograph.program import Contract, ExportGraphSignature, GraphModule

MODEL: Final = "model"
OURS: Final = "extra/monograph."
LAZY_BYTES: Final = 1 << 29
"""Files with more weights than this are not read whole to check sums, unless that is asked for."""


def load(
    file: str | os.PathLike[str] | IO[bytes],
    *,
    model: str = MODEL,
    extra_files: dict[str, Any] | None = None,
    checksums: bool | None = None,
) -> ExportedProgram:
    """Read a program from a `.pt2` file, written here or by torch.export.

    `extra_files` is filled with the texts of the names it has. Weights are mapped into memory, copy
    on write, and read when they are first touched. `checksums` says whether all of them are summed
    now; None means where they are at most half a gibibyte.

    Raises: archive-damaged, archive-invalid, archive-unsafe, archive-newer, archive-no-model,
        archive-unknown-operator, archive-unknown-type.
    """
    container = open_container(Path(file) if isinstance(file, str | os.PathLike) else file)
    _check_format(container)
    names = model_names(container)
    if model not in names:
        raise problem("archive-no-model", model=model, models=names)
    if extra_files is not None:
        for name in extra_files:
            with reading(f"extra/{name}"):
                extra_files[name] = str(container.view(f"extra/{name}"), "utf-8")
    if checksums is None:
        checksums = len(container.data) <= LAZY_BYTES
    return _program(container, model, checked=checksums)


def load_all(
    file: str | os.PathLike[str] | IO[bytes], *, checksums: bool | None = None
) -> dict[str, ExportedProgram]:
    """Read every program of a file, by name.

    Raises: as `load`.
    """
    container = open_container(Path(file) if isinstance(file, str | os.PathLike) else file)
    _check_format(container)
    checked = len(container.data) <= LAZY_BYTES if checksums is None else checksums
    return {name: _program(container, name, checked=checked) for name in model_names(container)}


def model_names(container: Container) -> list[str]:
    """The programs a file holds."""
    return [
        name.removeprefix("models/").removesuffix(".json")
        for name in container.members
        if name.startswith("models/") and name.endswith(".json")
    ]


def _check_format(container: Container) -> None:
    with reading("archive_format"):
        if "serialized_exported_program.json" in container.members:
            raise Refused(
                "it is in the format of PyTorch before 2.8; save it anew with a later one"
            )
        if bytes(container.view("archive_format")) != b"pt2":
            raise Refused("it is no archive of programs")
    with reading("archive_version"):
        version = str(container.view("archive_version"), "utf-8")
        if version != ARCHIVE_VERSION:
            reason = f"it is of version {version[:20]!r}, and {ARCHIVE_VERSION!r} is known"
            raise Refused(reason, "archive-newer")
    with reading("byteorder"):
        if "byteorder" in container.members and bytes(container.view("byteorder")) != b"little":
            raise Refused("its numbers are written in the other byte order")


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a program beside its graph, whoever saved it."""

    symbols: SymbolReader
    contract: Contract
    call_names: Any
    report: Report
    training: bool
    dialect: str
    mutated_in_place: dict[str, str] | None


def _program(container: Container, model: str, *, checked: bool) -> ExportedProgram:
    member = f"models/{model}.json"
    with reading(member):
        written = mapping(parse_json(container.view(member)))
        check_schema(mapping(written["schema_version"]))
        parts = mapping(written["graph_module"])
        signature = read_signature(parts["signature"])
        calls = _module_calls(parts["module_call_graph"])
    side = _side(container, model)
    state, constants = _state(container, model, side, checked=checked)
    examples = _examples(container, model)
    with reading(member):
        symbols = foreign_symbols(written) if side is None else side.symbols
        values = ValueReader(symbols.facts, symbols.expressions)
        names = [each.arg.name for each in signature.input_specs]
        module = GraphReader(parts["graph"], values, {}).module(names)
        root = _root(calls)
        known = _foreign(written, module, signature, root, symbols) if side is None else _ours(side)
        _check_state(module, signature, state, constants)
        _settle_constants(signature, module, known.contract)
        _fill_root(root, signature)
        signature.mutated_in_place = (
            written_inputs(module, signature)
            if known.mutated_in_place is None
            else known.mutated_in_place
        )
        if side is not None:
            restore_frames(module, side)
            restore_values(module, side)
        program = ExportedProgram(
            graph_module=module,
            graph_signature=signature,
            state_dict=state,
            constants=constants,
            range_constraints=ranges_of(known.contract, symbols.facts),
            in_spec=root.in_spec,
            out_spec=root.out_spec,
            example_inputs=examples,
            contract=known.contract,
            call_names=known.call_names,
            facts=symbols.facts,
            report=known.report,
            training=known.training,
            module_call_graph=calls,
            dialect=known.dialect,
        )
        _validated(program)
    return program


def _validated(program: ExportedProgram) -> None:
    try:
        program.validate()
    except MonographError as error:
        raise Refused(error.diagnostic.headline) from None
    spec, names = program.in_spec, program.call_names
    if spec.num_leaves != len(program.contract.clauses):
        raise Refused("its structure has not as many inputs as its contract")
    args, kwargs = spec.children()
    if args.num_children != len(names.positional) or kwargs.num_children != len(names.keywords):
        raise Refused("its arguments have not as many names as its structure")
    n_inputs = sum(s.kind is InputKind.USER_INPUT for s in program.graph_signature.input_specs)
    if n_inputs != len(program.contract.clauses):
        raise Refused("its graph has not as many inputs as its contract")


def _side(container: Container, model: str) -> SideRecord | None:
    member = f"{OURS}{model}.json"
    if member not in container.members:
        return None
    with reading(member):
        crc = container.members[f"models/{model}.json"].crc
        return read_side(parse_json(container.view(member)), crc)


def _state(
    container: Container, model: str, side: SideRecord | None, *, checked: bool
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    tensors = TensorReader(container, checked)
    aliases = {} if side is None else side.aliases
    found: list[dict[str, torch.Tensor]] = []
    for folder in ("weights", "constants"):
        member = f"data/{folder}/{model}_{folder}_config.json"
        with reading(member):
            if f"data/{folder}/{model}.pt" in container.members:
                raise Refused("its tensors are one pickle, as old versions wrote", "archive-unsafe")
            config = parse_json(container.view(member))
            found.append(tensors.read(config, folder, aliases))
    return found[0], found[1]


def _examples(container: Container, model: str) -> Any:
    member = f"data/sample_inputs/{model}.pt"
    if member not in container.members:
        return None
    with reading(member):
        blob = container.view(member)
        if not len(blob):
            return None
        examples = unpickled(blob)
        if not isinstance(examples, tuple) or len(examples) != 2:  # pyright: ignore[reportUnknownArgumentType]
            raise Refused("its examples are not arguments by position and by name")
        args, kwargs = examples  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(args, tuple | list) or not isinstance(kwargs, dict):
            raise Refused("its examples are not arguments by position and by name")
        return tuple(args), kwargs  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _module_calls(entries: Any) -> list[ModuleCallEntry]:
    found: list[ModuleCallEntry] = []
    for each in listed(entries):
        entry = mapping(each)
        call = entry.get("signature")
        found.append(
            ModuleCallEntry(text(entry["fqn"]), None if call is None else _call(mapping(call)))
        )
    return found


def _call(call: Json) -> ModuleCallSignature:
    names = call.get("forward_arg_names")
    return ModuleCallSignature(
        [read_argument(each) for each in listed(call["inputs"])],
        [read_argument(each) for each in listed(call["outputs"])],
        read_structure(call["in_spec"]),
        read_structure(call["out_spec"]),
        None if names is None else [text(each) for each in listed(names)],
    )


def _root(calls: list[ModuleCallEntry]) -> ModuleCallSignature:
    if not calls or calls[0].fqn or calls[0].signature is None:
        raise Refused("it does not say how the program is called")
    return calls[0].signature


def _fill_root(root: ModuleCallSignature, signature: ExportGraphSignature) -> None:
    root.inputs = [s.arg for s in signature.input_specs if s.kind is InputKind.USER_INPUT]
    root.outputs = [s.arg for s in signature.output_specs if s.kind.name == "USER_OUTPUT"]


def _ours(side: SideRecord) -> _Known:
    return _Known(
        symbols=side.symbols,
        contract=side.contract,
        call_names=side.call_names,
        report=side.report,
        training=side.training,
        dialect=side.dialect,
        mutated_in_place=side.mutated_in_place,
    )


def _foreign(
    written: Json,
    module: GraphModule,
    signature: ExportGraphSignature,
    root: ModuleCallSignature,
    symbols: SymbolReader,
) -> _Known:
    names = foreign_names(root)
    verifiers = listed(written.get("verifiers", []))
    return _Known(
        symbols=symbols,
        contract=foreign_contract(written, module, signature, root.in_spec, names, symbols),
        call_names=names,
        report=Report(),
        training=True,
        dialect="TRAINING" if "TRAINING" in verifiers else "ATEN",
        mutated_in_place=None,
    )


def _check_state(
    module: GraphModule,
    signature: ExportGraphSignature,
    state: Mapping[str, torch.Tensor],
    constants: Mapping[str, torch.Tensor],
) -> None:
    """Hold that every tensor is as the graph says it is."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    if len(inputs) != len(signature.input_specs):
        raise Refused("its signature has not as many inputs as its graph")
    for node, spec in zip(inputs, signature.input_specs, strict=True):
        if spec.target is None:
            continue
        tensor = state.get(spec.target, constants.get(spec.target))
        if tensor is None:
            raise Refused(f"the tensor {spec.target!r} is not in the file")
        expected: Any = node.meta["val"].tensor_type
        if tuple(tensor.shape) != expected.shape or tensor.dtype != expected.dtype:
            raise Refused(f"the tensor {spec.target!r} is not of the type the graph says")


def _settle_constants(
    signature: ExportGraphSignature, module: GraphModule, contract: Contract
) -> None:
    """Give constant inputs the value of the contract, which can say more than the format can."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    pairs = zip(inputs, signature.input_specs, strict=True)
    user = [(node, spec) for node, spec in pairs if spec.kind is InputKind.USER_INPUT]
    for (node, spec), clause in zip(user, contract.clauses, strict=False):
        if isinstance(spec.arg, ConstantArgument) and isinstance(clause, ValueClause):
            spec.arg.value = node.meta["val"] = clause.value


__all__ = ["MODEL", "load", "load_all", "model_names"]
