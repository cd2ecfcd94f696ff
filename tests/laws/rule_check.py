"""Compares every rule with the real operator: what the laws of `test_rules.py` are made of.

A sample is a call of PyTorch. It runs on real tensors under a dispatch mode, below autograd, as a
capture does; each operator it reaches that has a rule is checked three times: on the real sizes,
with equal sizes as one symbol, with every size its own symbol. A symbolic result must give the
concrete one when the hints are put in, its guards must hold there, and at other sizes where the
guards hold it must still be what the real operator gives.

By hand: `python -m tests.laws.rule_check --rules pointwise --samples 3 --notes`.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import pkgutil
import re
import sys
import unittest
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import monograph.rules
from monograph.abstract.tensor_type import TensorType, type_of
from monograph.diagnostics import MonographError, UnsupportedError
from monograph.host.process_groups import NAMESPACES
from monograph.host.versions import version
from monograph.integers import Expr, Facts, evaluate, is_symbol, use
from monograph.rules.registry import RULES, find_rule
from tests.laws.symbolic import OTHER_SIZES, Symbols, holds, instantiate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

HERE = Path(__file__).parent
MAX_ELEMENTS = 20_000  # larger samples teach nothing more about sizes


# They return their argument or a copy by a bit of the tensor that types do not have.
DECIDED_BY_A_BIT = {"aten.resolve_conj.default", "aten.resolve_neg.default"}
# Their results have one shape or another by what is in the matrices: refusing that is right.
DECIDED_BY_DATA = {"aten.linalg_lstsq.default"}


def load_rules() -> None:
    """Import every module of rules, so that the registry is complete."""
    for module in pkgutil.walk_packages(monograph.rules.__path__, "monograph.rules."):
        importlib.import_module(module.name)


@dataclass
class Outcome:
    """What was compared, and what differed, by overload."""

    mismatches: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    notes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    calls: Counter[str] = field(default_factory=Counter)
    unruled: Counter[str] = field(default_factory=Counter)


def flat(value: Any) -> Iterator[Any]:
    """The leaves of nested lists and tuples."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    else:
        yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting of lists, tuples and dicts with changed leaves."""
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
        return type(value)(mapped(item, change) for item in value)
    return change(value)


def typed(value: Any) -> Any:
    """Arguments of the rule: types where the operator takes tensors."""
    return mapped(value, lambda v: type_of(v) if isinstance(v, torch.Tensor) else v)


class OperatorWatch(TorchDispatchMode):
    """Is told of each operator that a sample runs; collects faults, and names that it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[str, str] = {}
        self.seen: set[str] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Watch(TorchDispatchMode):
    """Checks each dispatched operator that has a rule; opens composite operators."""

    def __init__(self, outcome: Outcome, wanted: Callable[[Any], bool] = lambda _: True) -> None:
        super().__init__()
        self.outcome = outcome
        self.wanted = wanted
        self.seen: set[Any] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        rule = find_rule(func)
        if rule is None and is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        if rule is None:
            self.outcome.unruled[str(func)] += 1
        if rule is None or not self.wanted(func) or not is_ordinary(args, kwargs):
            return func(*args, **kwargs)
        self.outcome.calls[str(func)] += 1
        types_before = typed((args, kwargs))
        key = (str(func), repr_of_call(types_before))
        check = Check(func, rule, self.outcome)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            check.refusal(types_before, error)
            raise
        if key not in self.seen:
            self.seen.add(key)
            check.concrete(types_before, (args, kwargs), result)
            check.symbolic(types_before, result)
            if is_composite(func) and not func._schema.is_mutable:
                with self:
                    func.decompose(*args, **kwargs)
        return result


def is_composite(func: Any) -> bool:
    """Whether the operator is made of others on every device."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return has(func.name(), "CompositeImplicitAutograd")


def is_ordinary(args: Any, kwargs: Any) -> bool:
    """Dense tensors of moderate size only."""
    tensors = [v for v in flat([args, list(kwargs.values())]) if isinstance(v, torch.Tensor)]
    return all(
        t.layout == torch.strided and not t.is_quantized and t.numel() <= MAX_ELEMENTS
        for t in tensors
    )


def repr_of_call(types: Any) -> str:
    """Equal for calls that a rule cannot tell apart."""
    return repr(mapped(types, lambda v: v.key if isinstance(v, TensorType) else v))


DIVIDE_BY_SIZES = {
    f"aten._scaled_dot_product_{each}.default"
    for each in ("flash_attention_for_cpu", "attention_math")
}
"""Kernels that end the process (SIGFPE) where there are no rows or heads, since PyTorch 2.14.1."""


@dataclass
class Check:
    """One call of one operator, compared with its rule."""

    func: Any
    rule: Callable[..., Any]
    outcome: Outcome

    def fail(self, stage: str, text: str, types: Any) -> None:
        """Record a difference."""
        self.outcome.mismatches[str(self.func)].append(f"{stage}: {text}\n      {shown(types)}")

    def raised(self, stage: str, error: Exception, types: Any) -> None:
        """Record that the rule refuses what eager took."""
        if str(self.func) in DECIDED_BY_DATA and isinstance(error, UnsupportedError):
            return
        self.fail(stage, f"raises {brief(error)}", types)

    def concrete(self, types: Any, values: Any, real: Any) -> None:
        """The rule on real sizes gives what eager gave."""
        with use(Facts()):
            try:
                got = self.rule(*types[0], **types[1])
            except Exception as error:  # noqa: BLE001 - a rule may be wrong in any way
                self.raised("static", error, types)
                return
        for text in differences(got, real, {}):
            self.fail("static", text, types)
        for text in self.identity(got, types, values, real):
            self.fail("static", text, types)

    def refusal(self, types: Any, error: Exception) -> None:
        """Note where eager refuses and the rule does not: the capture would learn of it late."""
        with use(Facts()):
            try:
                self.rule(*types[0], **types[1])
            except MonographError:
                return
            except Exception as other:  # noqa: BLE001 - refused, but not in our words
                error = other
        self.outcome.notes[str(self.func)].append(f"accepts: {brief(error)}\n      {shown(types)}")

    def identity(self, got: Any, types: Any, values: Any, real: Any) -> Iterator[str]:
        """Where eager returns an argument itself, so does the rule."""
        if self.func._schema.is_mutable or str(self.func) in DECIDED_BY_A_BIT:
            return
        given_types = list(flat([types[0], list(types[1].values())]))
        given = list(flat([values[0], list(values[1].values())]))
        for ours, theirs in zip(flat(got), flat(real), strict=False):
            if not isinstance(theirs, torch.Tensor) or not isinstance(ours, TensorType):
                continue
            same = [i for i, v in enumerate(given) if v is theirs]
            if same and not any(ours is given_types[i] for i in same):
                yield "eager returns the argument itself, the rule another object"
            if not same and any(ours is t for t in given_types):
                yield "eager returns a new tensor, the rule its argument"

    def symbolic(self, types: Any, real: Any) -> None:
        """Symbols in place of sizes: hints give eager's answer, and so do other sizes."""
        for shared in (True, False):
            facts = Facts()
            symbols = Symbols(facts, shared=shared)
            arguments = symbols.arguments(self.func, types)
            if not symbols.hints:
                return
            stage = "equal sizes share a symbol" if shared else "every size is a symbol"
            with use(facts):
                try:
                    got = self.rule(*arguments[0], **arguments[1])
                except Exception as error:  # noqa: BLE001 - as above
                    self.raised(stage, error, arguments)
                    continue
                broken = [str(g.relation) for g in facts.guards if not holds(g, symbols.hints)]
                if broken:
                    self.fail(stage, f"guards do not hold at the hints: {broken}", arguments)
                for text in differences(got, real, symbols.hints):
                    self.fail(stage, text, arguments)
                self.elsewhere(stage, facts, symbols, arguments, got)

    def elsewhere(
        self, stage: str, facts: Facts, symbols: Symbols, arguments: Any, got: Any
    ) -> None:
        """At other sizes that the guards accept, the answer is the real operator's too."""
        for change in OTHER_SIZES:
            env = {
                symbol: change(i, hint) for i, (symbol, hint) in enumerate(symbols.hints.items())
            }
            if not all(holds(guard, env) for guard in facts.guards):
                continue
            try:
                args, kwargs = instantiate(arguments, env, MAX_ELEMENTS)
            except ValueError:
                continue
            sizes = {str(symbol): size for symbol, size in env.items()}
            if str(self.func) in DIVIDE_BY_SIZES and version() != "2.13":
                continue
            try:
                real = self.func(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - values may be at fault, not sizes
                self.outcome.notes[str(self.func)].append(
                    f"{stage}: eager refuses {sizes}: {brief(error)}\n      {shown(arguments)}"
                )
                continue
            for text in differences(got, real, env):
                self.fail(f"{stage}, at {sizes}", text, arguments)


def differences(got: Any, real: Any, env: dict[Any, int]) -> Iterator[str]:
    """What differs between the rule's result and eager's, in words."""
    ours, theirs = list(flat(got)), list(flat(real))
    if len(ours) != len(theirs):
        yield f"{len(ours)} results, eager gives {len(theirs)}"
        return
    env = dict(env)
    for mine, true in zip(ours, theirs, strict=True):
        if isinstance(true, torch.Tensor):
            if not isinstance(mine, TensorType):
                yield f"{mine!r} instead of a tensor"
                continue
            yield from tensor_differences(mine, true, env)
        elif isinstance(mine, TensorType):
            yield f"a tensor instead of {true!r}"
        elif isinstance(mine, Expr):
            if number(mine, true, env) != true:
                yield f"{mine} instead of {true!r}"
        elif isinstance(true, int | bool | None) and mine != true:
            yield f"{mine!r} instead of {true!r}"


def tensor_differences(mine: TensorType, true: torch.Tensor, env: dict[Any, int]) -> Iterator[str]:
    """Shape, dtype, device, strides that matter, offset."""
    if len(mine.shape) != true.dim():
        yield f"rank {len(mine.shape)}, eager's is {true.dim()}"
        return
    shape = tuple(
        number(size, real, env) for size, real in zip(mine.shape, true.shape, strict=True)
    )
    if shape != tuple(true.shape):
        yield f"shape {shape} from {mine.shape}, eager's is {tuple(true.shape)}"
        return
    if mine.dtype != true.dtype:
        yield f"{mine.dtype}, eager's is {true.dtype}"
    if mine.device != true.device:
        yield f"{mine.device}, eager's is {true.device}"
    if true.layout != torch.strided or true.numel() == 0:
        return
    if 1 in env.values() or 0 in env.values():
        return  # what the layout is called there is found by probing sizes 0 and 1
    strides = tuple(number(step, None, env) for step in mine.stride())
    matter = [i for i, size in enumerate(true.shape) if size != 1]
    if any(strides[i] != true.stride(i) for i in matter):
        yield f"strides {strides}, eager's are {true.stride()} of {tuple(true.shape)}"
    offset = number(mine.offset, None, env)
    if offset != true.storage_offset():
        yield f"offset {offset}, eager's is {true.storage_offset()}"


def number(value: Any, real: int | None, env: dict[Any, int]) -> int:
    """The value of a size; a symbol the rule made stands for whatever eager gave."""
    if not isinstance(value, Expr):
        return value
    if real is not None and is_symbol(value) and value not in env:
        env[value] = real
    return evaluate(value, env)


def brief(error: Exception) -> str:
    """One line of an exception, with the place for those that are nobody's message."""
    first = str(error).strip().splitlines()[:1]
    place = ""
    if not isinstance(error, MonographError) and error.__traceback__ is not None:
        last = inspect.getinnerframes(error.__traceback__)[-1]
        place = f" at {Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__}: {' '.join(first)[:150]}{place}"


def shown(types: Any) -> str:
    """Arguments in short."""
    args, kwargs = mapped(types, lambda v: _Text(v) if isinstance(v, TensorType) else v)
    return f"({', '.join(map(repr, args))}, {kwargs})"[:400]


class _Text:
    def __init__(self, t: TensorType) -> None:
        steps = "" if t.strides is None else f" strides {list(t.strides)}"
        name = str(t.dtype).removeprefix("torch.")
        self.text = f"{name}[{', '.join(map(str, t.shape))}]{steps}"

    def __repr__(self) -> str:
        return self.text


# ------------------------------------------------------------------------------------ samples


def database() -> list[Any]:
    """PyTorch's own samples of its operators."""
    stand_in_for_expecttest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db  # noqa: PLC0415
    return op_db


def stand_in_for_expecttest() -> None:
    """Importing PyTorch's databases needs it, for a base class of tests that nothing here runs."""
    if "expecttest" not in sys.modules and importlib.util.find_spec("expecttest") is None:
        stand_in = ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in


def op_samples(
    dtypes: Sequence[torch.dtype], count: int, pattern: str = ""
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls from PyTorch's own database: the first samples of each operator."""
    for op in database():
        if pattern and not re.search(pattern, op.name):
            continue
        usable = [d for d in dtypes if d in op.dtypes] or sorted(op.dtypes, key=str)[:1]
        for dtype in usable:
            try:
                samples = op.sample_inputs("cpu", dtype, requires_grad=False)
                chosen = [s for s, _ in zip(samples, range(count), strict=False)]
            except Exception:  # noqa: BLE001 - some need libraries that are not here
                continue
            for sample in chosen:
                yield f"{op.name} {dtype}", _call(op.op, sample)


def refused_samples(pattern: str = "") -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls from the same database that eager refuses."""
    for op in database():
        if pattern and not re.search(pattern, op.name):
            continue
        try:
            cases = list(op.error_inputs("cpu")) if op.error_inputs_func else []
        except Exception:  # noqa: BLE001 - as above
            continue
        for case in cases:
            yield f"{op.name} refused", _call(op.op, case.sample_input)


def _call(op: Callable[..., Any], sample: Any) -> Callable[[], Any]:
    return lambda: op(sample.input, *sample.args, **sample.kwargs)


def own_samples() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls that families of rules list themselves, in `samples/<family>.py`: `SAMPLES`."""
    for path in sorted((HERE / "samples").glob("*.py")):
        module = importlib.import_module(f"tests.laws.samples.{path.stem}")
        for i, sample in enumerate(module.SAMPLES):
            yield f"samples/{path.name}[{i}]", sample


def sweep(
    samples: Iterable[tuple[str, Callable[[], Any]]],
    wanted: Callable[[Any], bool] = lambda _: True,
) -> Outcome:
    """Run every sample under the watch."""
    outcome = Outcome()
    watch = Watch(outcome, wanted)
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        for name, sample in samples:
            try:
                with torch._C._AutoDispatchBelowADInplaceOrView(), watch:
                    sample()
            except Exception as error:  # noqa: BLE001 - torch's own samples, not our rules
                outcome.notes[f"sample {name}"].append(brief(error))
    return outcome


SOURCE = Path(str(monograph.rules.__file__)).parent


def unsampled(outcome: Outcome) -> list[str]:
    """Rules that no sample reached, but for those that other tests register as users do.

    And for collectives, whose samples need several processes: `tests/distributed` has them.
    """
    ours = [
        each
        for each in RULES.rules()
        if Path(each.file).is_relative_to(SOURCE) and each.overload.namespace not in NAMESPACES
    ]
    return [str(each.overload) for each in ours if not outcome.calls[str(each.overload)]]


def report(outcome: Outcome, limit: int = 3) -> str:
    """Mismatches as text, the first few of each overload."""
    lines: list[str] = []
    for overload, texts in sorted(outcome.mismatches.items()):
        unique = list(dict.fromkeys(texts))
        lines.append(f"{overload}: {len(unique)} differences")
        lines.extend(f"    {text}" for text in unique[:limit])
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Check one file of rules, for whoever is writing it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", default="", help="pattern for the file of the rule")
    parser.add_argument("--overload", default="", help="pattern for the overload")
    parser.add_argument("--ops", default="", help="pattern for names in the database")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--dtypes", default="float32,int64,bool")
    parser.add_argument("--limit", type=int, default=3)
    parser.add_argument(
        "--notes", action="store_true", help="also where eager refuses, and failed samples"
    )
    parser.add_argument("--refused", action="store_true", help="also calls that eager refuses")
    parser.add_argument("--own", action="store_true", help="only samples listed beside the rules")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    load_rules()
    chosen = {
        str(r.overload)
        for r in RULES.rules()
        if re.search(options.rules, Path(r.file).stem)
        and re.search(options.overload, str(r.overload))
    }
    dtypes = [getattr(torch, name) for name in options.dtypes.split(",")]
    samples = list(own_samples())
    if not options.own:
        samples.extend(op_samples(dtypes, options.samples, options.ops))
    if options.refused:
        samples.extend(refused_samples(options.ops))
    outcome = sweep(samples, lambda func: str(func) in chosen)
    sys.stdout.write(report(outcome, options.limit) + "\n")
    if options.notes:
        for name, texts in sorted(outcome.notes.items()):
            sys.stdout.write(f"note {name}: {len(texts)}\n    {texts[0]}\n")
    missing = [name for name in unsampled(outcome) if name in chosen]
    sys.stdout.write(
        f"{len(samples)} samples, {sum(outcome.calls.values())} calls of {len(outcome.calls)} "
        f"rules; {len(outcome.mismatches)} rules differ; no sample reached {missing}\n"
    )
    return bool(outcome.mismatches)


if __name__ == "__main__":
    raise SystemExit(main())
