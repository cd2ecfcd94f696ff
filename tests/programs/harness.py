"""How a captured program is held against eager: results, effects, aliasing, gradients, refusals."""

import copy
import gc
import inspect
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils import _pytree as pytree

import monograph
from monograph import ExportedProgram
from monograph.diagnostics import ContractError, MonographError
from monograph.host.versions import version
from tests.models.harness import assert_unchanged, snapshot
from tests.programs.registry import Program
from tests.seeding import reseed

SEED_OF_WEIGHTS = 3
SEED_OF_EXAMPLE = 4
SEED_OF_CALL = 5


def build(program: Program) -> nn.Module:
    """Build the module, with the same weights every time."""
    reseed(SEED_OF_WEIGHTS)
    return program.build()


def inputs_at(program: Program, sizes: dict[str, int], seed: int):
    """Draw (args, kwargs)."""
    reseed(seed)
    made = program.inputs(**sizes)
    if len(made) == 2 and isinstance(made[0], tuple) and isinstance(made[1], dict):
        return made
    return made, {}


def every_dim(value: object, hint: object = monograph.Dim.AUTO):
    """Declare every dimension of every tensor `Dim.AUTO`."""
    return pytree.tree_map(
        lambda leaf: [hint] * leaf.dim() if isinstance(leaf, Tensor) else monograph.Dim.STATIC,
        value,
    )


def process_state() -> tuple:
    """What a capture patches, and must put back."""
    return (
        torch.nn.Module.__call__,
        torch.tensor,
        torch.as_tensor,
        torch.autocast.__enter__,
        torch.autocast.__exit__,
        torch.compiler.is_exporting(),
        torch.compiler.is_compiling(),
        gc.isenabled(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.overrides._len_torch_function_stack(),
        len(torch.utils._python_dispatch._get_current_dispatch_mode_stack()),
        torch._C._dispatch_tls_local_exclude_set(),
    )


def capture(program: Program, *, dynamic: bool, hint: object = monograph.Dim.AUTO):
    """Export the program; the module, the inputs and the process come back untouched."""
    module = build(program)
    args, kwargs = inputs_at(program, program.sizes, SEED_OF_EXAMPLE)
    kept = copy.deepcopy((args, kwargs))
    before, rng, state = snapshot(module), torch.random.get_rng_state(), process_state()
    shapes = None
    if dynamic:
        shapes = declaration(module, args, kwargs, hint)
    try:
        # What refusals look like is asked here; what is made of branches, in `control_flow`.
        branches = "refuse" if program.refused else "capture"
        return monograph.export(module, args, kwargs, dynamic_shapes=shapes, control_flow=branches)
    finally:
        assert_unchanged(before, snapshot(module))
        assert torch.equal(rng, torch.random.get_rng_state()), "capturing drew random numbers"
        same(kept, (args, kwargs), "the example inputs")
        after = process_state()
        assert str(state) == str(after), f"{state} became {after}"


_CAPTURED: dict[tuple[str, bool], tuple[ExportedProgram, dict[str, Tensor]]] = {}


def captured_once(program: Program, *, dynamic: bool) -> ExportedProgram:
    """As `capture`, once in a process: tests of many forms share it, and may change its state only.

    Whoever asks gets it with the state that it was captured with.
    """
    key = program.name, dynamic
    if key not in _CAPTURED:
        exported = capture(program, dynamic=dynamic)
        held = {**exported.state_dict, **exported.constants}
        tensors = {name: each for name, each in held.items() if isinstance(each, Tensor)}
        _CAPTURED[key] = exported, {name: each.clone() for name, each in tensors.items()}
    exported, kept = _CAPTURED[key]
    held = {**exported.state_dict, **exported.constants}
    with torch.no_grad():
        for name, value in kept.items():
            tensor = held[name]
            if not torch.equal(tensor, value):
                tensor.copy_(value)
            if not tensor.is_leaf:
                tensor.detach_()
            tensor.grad = None
    return exported


def declaration(module: nn.Module, args: tuple, kwargs: dict, hint: object = monograph.Dim.AUTO):
    """Declare every dimension of every argument, by name."""
    signature = inspect.signature(module.forward)
    declared: dict[str, object] = {}
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        gathered = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        declared.update(value if gathered else {name: value})
    return {name: every_dim(value, hint) for name, value in declared.items()}


def same(expected: object, actual: object, what: str, **tolerances: float) -> None:
    """Hold that two pytrees agree in structure, type, shape, dtype, layout and value."""
    expected_leaves, expected_spec = pytree.tree_flatten(expected)
    actual_leaves, actual_spec = pytree.tree_flatten(actual)
    # PyTorch's own pytrees give a torch.Size back as a tuple.
    left_text, right_text = (
        str(s).replace("(Size,", "(tuple,") for s in (expected_spec, actual_spec)
    )
    assert left_text == right_text, f"{what}: {expected_spec} became {actual_spec}"
    for at, (left, right) in enumerate(zip(expected_leaves, actual_leaves, strict=True)):
        if isinstance(left, Tensor):
            assert isinstance(right, Tensor), f"{what}[{at}]: a tensor became {right!r}"
            words = {"msg": lambda t, at=at: f"{what}[{at}]: {t}"}
            assert_close(right, left, equal_nan=True, **words, **tolerances)
            if left.numel() > 1 and left.layout == torch.strided:
                assert strides(left) == strides(right), (
                    f"{what}[{at}]: strides {left.stride()} became {right.stride()}"
                )
        elif left != right and not (left != left and right != right):
            raise AssertionError(f"{what}[{at}]: {left!r} became {right!r}")
        else:
            assert type(left) is type(right), f"{what}[{at}]: {type(left)} became {type(right)}"


def strides(tensor: Tensor) -> list[int]:
    """Strides where they mean something."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def aliases(tensors: list, results: object, module: nn.Module, names: list[str]) -> list:
    """For each result: the inputs, parameters and results it is, or shares storage with."""
    state = module.state_dict(keep_vars=True)
    held = [*tensors, *[state[name] for name in names]]
    leaves = pytree.tree_leaves(results)
    table = []
    for at, result in enumerate(leaves):
        if not isinstance(result, Tensor):
            continue
        others = [*held, *leaves[:at]]
        table.append(
            [
                ("is" if result is other else "views" if shares(result, other) else "")
                for other in others
                if isinstance(other, Tensor)
            ]
        )
    return table


def shares(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one storage with something in it."""
    left, right = one.untyped_storage(), other.untyped_storage()
    return left.nbytes() > 0 and left.data_ptr() == right.data_ptr()


def run(module: nn.Module, inputs, *, grad: bool = False, names: list[str] = ()):
    """Call on a private copy: (result, inputs after, aliasing) or the exception."""
    args, kwargs = copy.deepcopy(inputs)
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    if grad:
        for tensor in tensors:
            if tensor.is_floating_point():
                tensor.requires_grad_()
    reseed(SEED_OF_CALL)
    try:
        result = module(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  whatever user code raises is compared
        return error
    return result, (args, kwargs), aliases(tensors, result, module, names)


UNCHECKED = version() not in ("2.13", "2.14")
"""Since 2.15 `x[places] = number` takes any place in eager code where nothing is written."""


def agree(program: Program, module: nn.Module, sizes: dict[str, int]) -> str:
    """Hold that both agree at these sizes, or that the call is refused; say which."""
    reference = build(program)
    start_anew(module, reference)
    given = inputs_at(program, sizes, SEED_OF_CALL + sum(sizes.values()))
    names = sorted(reference.state_dict().keys() & module.state_dict().keys())
    for _ in range(2):  # effects on buffers show in the second call
        actual = run(module, given, names=names)
        if isinstance(actual, ContractError):
            return "refused"
        expected = run(reference, given, names=names)
        if isinstance(expected, Exception):
            assert isinstance(actual, Exception), f"at {sizes} eager raises {expected!r}"
            return "raises"
        if isinstance(actual, IndexError) and UNCHECKED and 0 in sizes.values():
            return "raises"
        if isinstance(actual, Exception):
            raise AssertionError(f"at {sizes}: {actual!r}") from actual
        same(expected[0], actual[0], f"the result at {sizes}")
        same(expected[1], actual[1], f"the inputs at {sizes}")
        assert expected[2] == actual[2], f"aliasing at {sizes}: {expected[2]} became {actual[2]}"
        buffers_agree(reference, module)
    return "agrees"


def start_anew(module: nn.Module, reference: nn.Module) -> None:
    """Give the program the state the module starts with: it keeps what earlier calls wrote."""
    forget_history(module)
    kept = dict([*reference.named_parameters(), *reference.named_buffers()])
    with torch.no_grad():
        for name, value in [*module.named_parameters(), *module.named_buffers()]:
            if name in kept:
                value.copy_(kept[name])


def forget_history(program: nn.Module) -> None:
    """Cut what an earlier call's gradients left on buffers that it wrote to."""
    for module in program.modules():
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.grad_fn is not None:
                module._buffers[name] = buffer.detach()


def buffers_agree(reference: nn.Module, module: nn.Module) -> None:
    """Hold that buffers and parameters have the same values."""
    kept = dict(reference.state_dict())
    for name, value in module.state_dict().items():
        if name in kept:
            assert_close(value, kept[name], equal_nan=True, msg=lambda t, n=name: f"{n}: {t}")


def gradients(module: nn.Module, inputs):
    """Differentiate the results by inputs and parameters; an exception where eager gives one."""
    module.zero_grad()
    answer = run(module, inputs, grad=True)
    if isinstance(answer, Exception):
        return answer
    leaves = [
        leaf.square().sum()
        for leaf in pytree.tree_leaves(answer[0])
        if isinstance(leaf, Tensor) and leaf.requires_grad and leaf.is_floating_point()
    ]
    flags = [
        leaf.requires_grad for leaf in pytree.tree_leaves(answer[0]) if isinstance(leaf, Tensor)
    ]
    try:
        if leaves:
            torch.stack([leaf.double() for leaf in leaves]).sum().backward()
    except RuntimeError as error:  # such as a value changed after it was saved for backward
        return error
    given = [leaf.grad for leaf in pytree.tree_leaves(answer[1]) if isinstance(leaf, Tensor)]
    return flags, given, {n: p.grad for n, p in module.named_parameters()}


def refusal(function: Callable) -> MonographError | None:
    """Give the first refusal raised, None if there is none."""
    try:
        function()
    except MonographError as error:
        return error
    return None
