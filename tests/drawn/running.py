"""A random program in one form beside eager: agrees, refused, raises as eager does, or is wrong."""

import contextlib
import copy
import io
import linecache
import logging
import random
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import monograph
from monograph.diagnostics import MonographError
from monograph.program import ExportedProgram
from tests.contract.judging import overwrite
from tests.drawn.calls import MODES, Inputs, calls_of, example_of
from tests.drawn.looking import OF_GRADIENTS, Look, difference, outside_of
from tests.drawn.writing import MODULE, Writer, source_of
from tests.programs.harness import start_anew
from tests.seeding import reseed

AGREES, REFUSED, RAISES, WRONG, INTERNAL = "agrees", "refused", "raises", "WRONG", "internal error"
UNDETERMINED = "undetermined"
"""Eager's own result is another each time: what `resize_` adds is whatever memory held."""
NO_GRADIENT = "backward is refused"
LONGEST = 20.0
"""How many seconds a program may take in eager code."""


@dataclass
class Drawn:
    """One program: its lines, its example and its calls."""

    number: int
    body: list[str]
    example: Inputs
    calls: list[Inputs]
    dynamic: bool
    code: object = field(init=False)
    source: str = field(init=False)

    def __post_init__(self) -> None:
        parameters = ", ".join(self.example.parameters)
        self.source = source_of(self.body, parameters, self.example.sizes[1])
        file = f"drawn_{self.number}.py"
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(True), file)
        self.code = compile(self.source, file, "exec")

    def made(self) -> tuple[dict[str, object], nn.Module]:
        """The module anew, with what is around it."""
        names: dict[str, object] = {"__name__": "drawn"}
        reseed(3)
        exec(self.code, names)
        module = names[MODULE]()
        return names, module.train(self.example.training)

    def told(self) -> str:
        """The program and its calls, as they are read."""
        lines = [self.source.split("torch.nn.functional as F\n")[1].strip()]
        lines += [f"# number {self.number}, {'dynamic' if self.dynamic else 'fixed'} sizes"]
        lines += [f"# example: {self.example.told()}"]
        return "\n".join([*lines, *(f"# call {n}: {c.told()}" for n, c in enumerate(self.calls))])


class TooLong(BaseException):
    """A loop has lost what ends it."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises: TooLong, where it takes longer; in the main thread alone."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def drawn(number: int) -> Drawn:
    """The program of this number: the first of those it gives that ends at its example."""
    rng = random.Random(number)
    while True:
        example = example_of(rng)
        dynamic = rng.random() < 0.6
        try:
            with within(LONGEST):  # each statement runs as it is drawn
                program = Drawn(number, Writer(rng, example).body(), example, [], dynamic)
                names, module = program.made()
                observed(module, names, example)
        except (Exception, TooLong):  # noqa: BLE001 - the program's own
            continue
        finally:
            torch.set_grad_enabled(True)
        program.calls = [example, *calls_of(rng, example, dynamic=dynamic)]
        return program


@dataclass(frozen=True)
class Seen:
    """What is visible of one call."""

    visible: Look
    buffers: Look
    """Those that were replaced: a program writes into the ones it has."""
    outside: Look
    replaced: frozenset[str]
    gradients: list[Tensor | None] | str
    rest: dict[str, object]
    is_leaf_written: bool
    """Whether an argument that is a leaf and requires gradients was written to."""


def observed(
    module: nn.Module,
    names: dict[str, object],
    inputs: Inputs,
    replaced: frozenset[str] | None = None,
) -> Seen:
    """Call once; `replaced` are the buffers whose memory is not compared, found where None."""
    args, kwargs = inputs.make()
    leaves = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    memories = [leaf.untyped_storage().data_ptr() for leaf in leaves]
    versions = [(leaf, leaf._version) for leaf in leaves if leaf.is_leaf and leaf.requires_grad]
    before = dict(state_of(module))
    places = {name: tensor.untyped_storage().data_ptr() for name, tensor in before.items()}
    for tensor in before.values():
        tensor.grad = None
    reseed(5)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002  the generator that user code shares
    around = MODES[inputs.mode]
    with around() if around else contextlib.nullcontext():
        result = module(*args, **kwargs)
    rest = {
        "random numbers": torch.random.get_rng_state().numpy().tobytes(),
        "Python's random numbers": random.getstate(),
        "NumPy's": np.random.get_state()[1].tobytes(),  # noqa: NPY002  as above
        "grad mode": torch.is_grad_enabled(),
    }
    torch.set_grad_enabled(True)
    after = dict(state_of(module))
    if replaced is None:
        replaced = frozenset(
            name
            for name in before
            if after.get(name) is not before[name]
            or after[name].untyped_storage().data_ptr() != places[name]
        )
    look = Look()
    look.at(args)
    look.at(kwargs)
    for name in sorted(after.keys() - replaced):
        look.tokens.append(name)
        look.at(after[name])
    apart = Look()
    apart.at([after.get(name) for name in sorted(replaced)])
    look.tokens.append("result")
    look.at(result)
    seen = Seen(
        look,
        apart,
        outside_of(names),
        replaced,
        gradients(result, [*leaves, *(after[name] for name in sorted(after))]),
        rest,
        any(leaf._version != version for leaf, version in versions),
    )
    own = zip(leaves, memories, strict=True)  # a leaf may have been given memory of the module's
    overwrite([leaf for leaf, memory in own if leaf.untyped_storage().data_ptr() == memory])
    return seen


def state_of(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers by name."""
    return (
        (name, each)
        for name, each in module.state_dict(keep_vars=True).items()
        if not name.startswith("_")
    )


def gradients(result: object, leaves: list[Tensor]) -> list[Tensor | None] | str:
    """What inputs and parameters receive from the squares of the results, or how it raises."""
    sums = [
        leaf.abs().square().sum().double()
        for leaf in pytree.tree_leaves(result)
        if isinstance(leaf, Tensor) and leaf.requires_grad
    ]
    if not sums:
        return "none"
    try:
        torch.stack(sums).sum().backward()
    except RuntimeError as error:
        return NO_GRADIENT if "is not implemented" in str(error) else "raises"
    return [each.grad if each.is_leaf else None for each in leaves]


def compared(expected: Seen, actual: Seen, *, outside: bool) -> str:
    """The first difference of two calls."""
    found = difference(expected.visible, actual.visible)
    found = found or difference(expected.buffers, actual.buffers)
    if found:
        return found
    for what, left in expected.rest.items():
        if left != actual.rest[what]:
            return f"{what} are other ones"
    if outside and (found := difference(expected.outside, actual.outside)):
        return f"outside: {found}"
    left, right = expected.gradients, actual.gradients
    if isinstance(left, str) or isinstance(right, str):
        kinds = [each if isinstance(each, str) else "some" for each in (left, right)]
        return "" if kinds[0] == kinds[1] else f"gradients: {kinds[0]} became {kinds[1]}"
    looks = Look(), Look()
    for look, grads in zip(looks, (left, right), strict=True):
        for grad in grads:
            look.at(None if grad is None else grad.clone())
    found = difference(*looks, OF_GRADIENTS)
    return f"gradients: {found}" if found else ""


# ------------------------------------------------------------------------------------------ forms


def loaded(program: ExportedProgram) -> nn.Module:
    """Saved and loaded."""
    return read_back(program).module()


def read_back(program: ExportedProgram) -> ExportedProgram:
    """The program out of a file."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return monograph.load(file)


FORMS: dict[str, tuple[bool, Callable[[ExportedProgram], nn.Module]]] = {
    "strict": (True, lambda program: program.module()),
    "plain": (False, lambda program: program.module()),
    "decomposed": (True, lambda program: program.run_decompositions().module()),
    "loaded": (True, loaded),
    "unflattened": (True, monograph.unflatten),
    "copied": (True, lambda program: copy.deepcopy(program).module()),
    "moved": (True, lambda program: program.to("cpu").module()),
    "plain decomposed": (False, lambda program: program.run_decompositions().module()),
    "loaded decomposed": (True, lambda program: read_back(program.run_decompositions()).module()),
    "plain unflattened": (False, monograph.unflatten),
}


@dataclass(frozen=True)
class Verdict:
    """What became of a program in one form, at its export (`call` is -1) or at one call."""

    form: str
    call: int
    kind: str
    why: str = ""

    def __str__(self) -> str:
        where = "export" if self.call < 0 else f"call {self.call}"
        return f"{self.form}, {where}: {self.kind}: {self.why}"


def described(error: Exception) -> str:
    """An exception on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def refusal(form: str, call: int, error: Exception) -> Verdict:
    """A refusal by its name, or an exception of ours that is none."""
    if isinstance(error, MonographError) and error.diagnostic.name not in {
        "bug",
        "invalid-program",
    }:
        return Verdict(form, call, REFUSED, error.diagnostic.name)
    if isinstance(error, RuntimeError) and " does not hold (drawn_" in str(error):
        return Verdict(form, call, REFUSED, "asserted where a branch runs")
    return Verdict(form, call, INTERNAL, described(error))


def exported(
    program: Drawn, *, strict: bool
) -> tuple[ExportedProgram, dict[str, object], nn.Module]:
    """The captured program, with what is around its module, and that module."""
    names, module = program.made()
    args, kwargs = program.example.make()
    every = {0: monograph.Dim.AUTO, 1: monograph.Dim.AUTO}
    shapes = dict.fromkeys(program.example.parameters)
    if program.dynamic:
        shapes |= {"x": every, "y": every}
        if "z" in shapes:
            shapes["z"] = [{0: monograph.Dim.AUTO}, every]
        if "d" in shapes:
            kept = program.example.keys
            shapes["d"] = {key: every if key == "a" else {0: monograph.Dim.AUTO} for key in kept}
    logging.disable(logging.CRITICAL)
    try:
        found = monograph.export(
            module, args, kwargs, dynamic_shapes=shapes if program.dynamic else None, strict=strict
        )
    finally:
        logging.disable(logging.NOTSET)
        torch.set_grad_enabled(True)
    return found, names, module


def verdicts(program: Drawn, forms: list[str], only: int | None = None) -> Iterator[Verdict]:
    """What becomes of it in these forms; of one call alone where `only` says so."""
    captures: dict[bool, object] = {}
    for form in forms:
        strict, make = FORMS[form]
        if strict not in captures:
            try:
                captures[strict] = exported(program, strict=strict)
            except Exception as error:  # noqa: BLE001 - judged
                captures[strict] = refusal(form, -1, error)
            else:
                names, module = captures[strict][1:]
                before = outside_of(*program.made())
                try:
                    found = difference(before, outside_of(names, module))
                except RuntimeError as error:
                    found = described(error)
                if found:
                    yield Verdict(form, -1, WRONG, f"the export changed what is outside: {found}")
        captured = captures[strict]
        if isinstance(captured, Verdict):
            yield Verdict(form, -1, captured.kind, captured.why)
            continue
        yield from verdicts_of_form(program, form, make, captured, only)


def verdicts_of_form(
    program: Drawn, form: str, make: Callable, captured: tuple, only: int | None
) -> Iterator[Verdict]:
    """Make the form, and call it."""
    exported_program, names, _ = captured
    for tensor in exported_program.state_dict.values():
        if tensor.grad_fn is not None:  # calls before wrote it there: PyTorch copies no such state
            tensor.detach_()
    try:
        made = make(exported_program)
    except Exception as error:  # noqa: BLE001 - judged
        yield refusal(form, -1, error)
        return
    yield Verdict(form, -1, AGREES)
    for at, inputs in enumerate(program.calls):
        if only is None or at == only:
            yield judged(program, form, at, inputs, (made, names))


def is_determined(program: Drawn, inputs: Inputs) -> bool:
    """Whether eager code agrees with itself, with other things in the memory that it enlarges."""
    seen = []
    for junk in (1, 77):
        around, module = program.made()
        with enlarging_with(junk):
            seen.append(observed(module, around, inputs))
        torch.set_grad_enabled(True)
    return not compared(*seen, outside=True)


@contextlib.contextmanager
def enlarging_with(junk: int) -> Iterator[None]:
    """Let `resize_` fill the memory that it adds."""
    original = torch.Tensor.resize_

    def resize(tensor: Tensor, *sizes: object) -> Tensor:
        before = tensor.untyped_storage().nbytes()
        original(tensor, *sizes)
        torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())[before:].fill_(junk)
        return tensor

    torch.Tensor.resize_ = resize
    try:
        yield
    finally:
        del torch.Tensor.resize_


def judged(program: Drawn, form: str, at: int, inputs: Inputs, made: tuple) -> Verdict:
    """Two calls with the same kind of inputs beside eager."""
    called, names = made
    around, reference = program.made()
    start_anew(called, reference)
    for _ in range(2 if at < 2 else 1):
        error = expected = None
        try:
            expected = observed(reference, around, inputs)
        except Exception as raised:  # noqa: BLE001 - compared
            error = raised
        finally:
            torch.set_grad_enabled(True)
        try:
            replaced = expected.replaced if expected else frozenset()
            actual = observed(called, names, inputs, replaced)
        except MonographError as refused:
            return Verdict(form, at, RAISES) if error else refusal(form, at, refused)
        except Exception as raised:  # noqa: BLE001 - judged
            return Verdict(form, at, RAISES) if error else refusal(form, at, raised)
        finally:
            torch.set_grad_enabled(True)
        if error:
            leaf = " A leaf is written to." if actual.is_leaf_written else ""
            return Verdict(form, at, WRONG, f"eager raises {described(error)}{leaf}")
        if actual.gradients == NO_GRADIENT != expected.gradients:
            return Verdict(form, at, REFUSED, NO_GRADIENT)
        outside = form in {"strict", "plain"}
        if found := compared(expected, actual, outside=outside):
            kind = WRONG if is_determined(program, inputs) else UNDETERMINED
            return Verdict(form, at, kind, found)
    return Verdict(form, at, AGREES)
