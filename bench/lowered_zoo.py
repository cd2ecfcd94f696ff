"""Hold what a zoo of models is lowered to against the models, each in a process of its own.

    python -m bench.lowered_zoo FOLDER [--mode static|dynamic] [--only REGEX] [--append]

FOLDER holds a `zoo.py` (see bench/zoo.md). Every program is lowered twice over: without writes
(`run_decompositions({})`) and to core operators (`run_decompositions()`). Held are: values, writes
to inputs and buffers as eager's, on the example, on other values and, when dynamic, at other sizes;
only operators of the dialect, and exceptions that are named; the same graph when it is lowered
again; and the same answers after it was saved and loaded.
"""

import copy
import functools
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import monograph
from bench.results import Results
from bench.zoo_runs import over_zoo, parser_of, said
from monograph.diagnostics import ContractError
from monograph.program.dialect import dialect_fault
from tests.laws.lowering import NAMED, with_formula

TABLES = {"functional": dict, "core": monograph.default_decompositions}
SEED = 3
TOLERANCE = 1e-4
"""How far values may be from eager's, absolutely and as a part of the greatest."""

DIFFER = "the values differ"

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a module answers to inputs: results and inputs after the call, and its buffers."""

    leaves: tuple[Any, ...]
    buffers: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call, and eager's answer to it."""

    name: str
    inputs: Inputs
    expected: Answer


class WrongError(Exception):
    """A lowered program is not what lowering promises; the message says where."""


# ------------------------------------------------------------------------------ beside the model
def answer(module: nn.Module, inputs: Inputs, buffers: dict[str, Tensor]) -> Answer:
    """Call on a private copy, with the buffers as they were at first."""
    held = dict(module.named_buffers(remove_duplicate=False))
    with torch.no_grad():
        for name in held.keys() & buffers.keys():
            held[name].copy_(buffers[name])
    args, kwargs = copy.deepcopy(inputs)
    torch.manual_seed(SEED)
    result = module(*args, **kwargs)
    leaves = [*pytree.tree_leaves(result), *pytree.tree_leaves((args, kwargs))]
    held = dict(module.named_buffers(remove_duplicate=False))
    after = {name: _kept(held[name]) for name in held.keys() & buffers.keys()}
    return Answer(tuple(map(_kept, leaves)), after)


def _kept(leaf: object) -> object:
    return leaf.detach().clone() if isinstance(leaf, Tensor) else leaf


def difference(expected: tuple[Any, ...], actual: tuple[Any, ...]) -> str:
    """Say where two answers differ, "" where they do not."""
    if len(expected) != len(actual):
        return f"{len(actual)} leaves, not {len(expected)}"
    for place, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if not isinstance(one, Tensor) or not isinstance(other, Tensor):
            if type(one) is not type(other) or (isinstance(one, int | float) and one != other):
                return f"leaf {place} is {other!r}, not {one!r}"[:120]
        elif (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"leaf {place} is {other.shape} {other.dtype}, not {one.shape} {one.dtype}"
        elif not _is_close(one, other):
            return f"leaf {place}: {DIFFER}"
    return ""


def _is_close(one: Tensor, other: Tensor) -> bool:
    if not one.numel():
        return True
    if not (one.is_floating_point() or one.is_complex()):
        return torch.equal(one, other)
    scale = float(torch.nan_to_num(one, 0.0, 0.0, 0.0).abs().max())
    return torch.allclose(other, one, 0.0, TOLERANCE * (1 + scale), equal_nan=True)


# ---------------------------------------------------------------------------------- one model
def held(zoo: Any, name: str, mode: str) -> dict[str, Any]:
    """Hold the lowerings of a model; where values differ, in double precision as well.

    Rounding may choose among equals (the best of many boxes); in double precision it does not.
    """
    found = held_in(zoo, name, mode, lambda value: value)
    wrong = [t for t in TABLES if DIFFER in found.get(t, {}).get("wrong", "")]
    if wrong:
        again = held_in(zoo, name, mode, doubled)
        for table in wrong:
            if "wrong" not in again.get(table, {"wrong": ""}):
                found[table] = {**again[table], "doubled": True}
    return found


def doubled(value: Any) -> Any:
    """Convert a module, or the tensors of inputs, to double precision."""
    if isinstance(value, nn.Module):
        return value.double()

    def convert(leaf: object) -> object:
        is_float = isinstance(leaf, Tensor) and leaf.is_floating_point()
        return leaf.double() if is_float else leaf

    return pytree.tree_map(convert, value)


def held_in(
    zoo: Any, name: str, mode: str, convert: Callable[[Any], Any]
) -> dict[str, dict[str, Any]]:
    """Capture a model, and hold each lowering of it; give what is wrong with each, by table."""
    entry = zoo.get(name)
    module, *example, shapes = entry()
    module = convert(module)
    buffers = {n: b.clone() for n, b in module.named_buffers(remove_duplicate=False)}
    at = {"example": tuple(example), "values": replace(entry, B=entry.A).second_inputs()}
    if mode == "dynamic":
        at["sizes"] = entry.second_inputs()
    at = {each: convert(inputs) for each, inputs in at.items()}
    dynamic = shapes if mode == "dynamic" else None
    given = copy.deepcopy(at["example"])
    torch.manual_seed(SEED)
    try:
        program = monograph.export(module, *given, dynamic_shapes=dynamic, strict=False)
    except monograph.MonographError as error:
        return {"error": said(error)}
    reference = copy.deepcopy(module)
    calls = [Call(n, inputs, answer(reference, inputs, buffers)) for n, inputs in at.items()]
    accepted = [call for call in calls if accepts(program.module(), call, buffers) is None]
    found: dict[str, Any] = {"calls": [call.name for call in accepted]}
    for table in TABLES:
        try:
            found[table] = held_with(program, table, accepted, buffers)
        except WrongError as error:
            found[table] = {"wrong": str(error)}
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is the finding
            found[table] = {"wrong": said(error)}
    return found


def accepts(module: nn.Module, call: Call, buffers: dict[str, Tensor]) -> str | None:
    """Hold a call against eager; give the refusal where the contract refuses it.

    Raises: WrongError, and what the program raises.
    """
    try:
        actual = answer(module, call.inputs, buffers)
    except ContractError as error:
        return said(error)
    wrong = difference(call.expected.leaves, actual.leaves)
    for name, buffer in actual.buffers.items():
        wrong = wrong or difference((call.expected.buffers[name],), (buffer,))
    if wrong:
        raise WrongError(f"{call.name}: {wrong}")
    return None


def held_with(
    program: Any, table: str, calls: list[Call], buffers: dict[str, Tensor]
) -> dict[str, Any]:
    """Lower by one table, and hold the result; give how many calls it has, and the exceptions.

    Raises: WrongError.
    """
    lowered = program.run_decompositions(TABLES[table]())
    hold_operators(lowered, table)
    again = lowered.run_decompositions(TABLES[table]())
    if texts(again) != texts(lowered):
        raise WrongError("lowered twice, it is not what it was")
    file = io.BytesIO()
    monograph.save(lowered, file)
    file.seek(0)
    narrower: list[str] = []
    for what, each in (("", lowered), ("loaded, ", monograph.load(file))):
        for call in calls:
            try:
                refusal = accepts(each.module(), call, buffers)
            except WrongError as error:
                raise WrongError(f"{what}{error}") from error
            if refusal is not None:
                narrower.append(f"{what}{call.name}: {refusal}")
    n_calls = sum(each.op == "call_function" for each in lowered.graph.nodes)
    return {"calls": n_calls, "exceptions": dict(lowered.exceptions), "narrower": narrower}


def hold_operators(lowered: Any, table: str) -> None:
    """Nothing is written to but copies; nothing with a formula is left; all else is core or named.

    Raises: WrongError.
    """
    if lowered.graph_signature.mutated_in_place:
        raise WrongError(f"writes to {lowered.graph_signature.mutated_in_place}")
    exceptions = lowered.exceptions
    for module in lowered.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            if node.op == "call_function" and (fault := dialect_fault(node)):
                raise WrongError(fault)
            if table == "functional" or not isinstance(node.target, torch._ops.OpOverload):  # noqa: SLF001 - torch names it so
                continue
            if torch.Tag.core not in node.target.tags and str(node.target) not in exceptions:
                raise WrongError(f"{node.target} is no core operator, and is not named")
    if table == "core" and (left := with_formula(lowered)):
        raise WrongError(f"has a formula, and is left: {', '.join(left)}")


def texts(program: Any) -> list[str]:
    """Give the text of every graph; its nodes are numbered, since what was left out had names."""
    return [
        "\n".join(_lines(module.graph))
        for module in program.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
    ]


def _lines(graph: torch.fx.Graph) -> Iterator[str]:
    numbers = {node: f"%{at}" for at, node in enumerate(graph.nodes)}
    for node, number in numbers.items():
        target = "" if node.op in {"placeholder", "get_attr"} else node.target
        given = torch.fx.map_arg((node.args, dict(node.kwargs)), numbers.__getitem__)
        yield f"{number} = {node.op} {target} {given}"


# ------------------------------------------------------------------------------------ the zoo
def row(table: str, found: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """Count what became of the models with one table."""
    each = [model[table] for model in found.values() if table in model]
    right = [one for one in each if "wrong" not in one]
    return (
        table,
        str(len(found)),
        str(len(each)),
        str(len(right)),
        str(sum("doubled" in one for one in right)),
        str(sum(not one["narrower"] for one in right)),
        str(sum(one["calls"] for one in right)),
    )


def notes(found: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """Name the models that were not captured, those that are wrong, and operators left over."""
    refused = [name for name, each in found.items() if "error" in each]
    failed = [f"{name} ({each['failed']})" for name, each in found.items() if "failed" in each]
    lines = [f"Not captured: {len(refused)} ({', '.join(refused)})."]
    lines += [f"Failed: {', '.join(failed)}."] if failed else []
    left: Counter[str] = Counter()
    for name, each in found.items():
        for table in TABLES:
            one = each.get(table, {})
            lines += [f"Wrong, {table}: {name}: {one['wrong']}."] if "wrong" in one else []
            lines += [f"Narrower, {table}: {name}: {why}." for why in one.get("narrower", ())]
        left.update(each.get("core", {}).get("exceptions", {}).keys() - NAMED)
    lines.append("Operators outside of core, by models that have them: " + _counted(left) + ".")
    return tuple(lines)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({n})" for name, n in counts.most_common()) or "none"


def main() -> None:
    """Hold every model, and show how many are right."""
    parser = parser_of(__doc__)
    parser.add_argument("--mode", choices=["static", "dynamic"], default="static")
    options = parser.parse_args()
    found = over_zoo(options, functools.partial(held, mode=options.mode))
    columns = ("table", "models", "captured", "right", "by doubles", "as wide", "calls")
    title = f"What lowering makes of the zoo, {options.mode}"
    results = Results(title, columns, [row(t, found) for t in TABLES], notes(found))
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
