"""Programs with custom operators, as users write them: right ones, and ones with a mistake.

`python -m tests.custom.programs` rewrites the golden messages, for review as prose.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.library import Library, custom_op

import monograph
from monograph import rules
from monograph.diagnostics import MonographError

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True, slots=True)
class Program:
    """A forward, the example's sizes, and others; `values` draws tensors of a size."""

    name: str
    forward: Callable[..., Any]
    inputs: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...] = (4, 7, 2, 1)


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong, and what finds it: a call that raises."""

    name: str
    call: Callable[[], Any]


class Model(nn.Module):
    """A forward that is a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


PROGRAMS: dict[str, Program] = {}
MISTAKES: dict[str, Mistake] = {}


def program(inputs, sizes=(4, 7, 2, 1)):
    """Register the forward below."""

    def enter(forward):
        name = forward.__name__
        PROGRAMS[name] = Program(name, forward, inputs, sizes)
        return forward

    return enter


def mistake(call):
    """Register the call below, which raises."""
    MISTAKES[call.__name__] = Mistake(call.__name__, call)
    return call


def one(n):
    """A matrix of `n` rows."""
    return (torch.randn(n, 3),)


def two(n):
    """Two matrices of `n` rows."""
    return torch.randn(n, 3), torch.randn(n, 3)


# --- right ---------------------------------------------------------------------------------------


@custom_op("own::scaled", mutates_args=())
def scaled(x: Tensor, by: float = 2.0) -> Tensor:
    return x * by


@scaled.register_fake
def _(x, by=2.0):
    return torch.empty_like(x)


@program(one)
def pointwise(x):
    return scaled(x) + 1


@program(one)
def with_an_argument(x):
    return scaled(x, 3.5).relu()


@program(one)
def by_keyword(x):
    return scaled(x, by=0.5)


@program(one)
def by_its_name(x):
    return torch.ops.own.scaled(scaled(x))


@custom_op("own::both", mutates_args=())
def both(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.sum(0), x.argmax(1)


@both.register_fake
def _(x):
    return x.new_empty(x.shape[1:]), x.new_empty(x.shape[0], dtype=torch.int64)


@program(one)
def several_results(x):
    total, where = both(x)
    return total * 2, where


@custom_op("own::each", mutates_args=())
def each(xs: Sequence[Tensor], k: int) -> list[Tensor]:
    return [x.repeat(k, 1) for x in xs]


@each.register_fake
def _(xs, k):
    return [x.new_empty(x.shape[0] * k, x.shape[1]) for x in xs]


@program(two)
def lists_of_tensors(x, y):
    return torch.cat(each([x, y], 2))


@program(one)
def a_size_as_argument(x):
    return each([x], x.shape[0])[0].sum()


@custom_op("own::weighed", mutates_args=())
def weighed(x: Tensor, weight: Tensor | None = None) -> Tensor:
    return x.clone() if weight is None else x * weight


@weighed.register_fake
def _(x, weight=None):
    return torch.empty_like(x)


@program(two)
def an_optional_tensor(x, y):
    return weighed(x, y) + weighed(x)


@custom_op("own::add_in_place", mutates_args=("x",))
def add_in_place(x: Tensor, y: Tensor) -> None:
    x.add_(y)


@program(two)
def writes_to_an_intermediate(x, y):
    z = x.clone()
    add_in_place(z, y)
    return z * 2


@program(two)
def writes_to_an_input(x, y):
    add_in_place(x, y)
    return x.sum()


@program(two)
def writes_to_a_slice(x, y):
    z = torch.cat([x, y])
    add_in_place(z[: x.shape[0]], y)
    return z * 2


@program(two)
def writes_to_a_transposed_view(x, y):
    z = x * 2
    add_in_place(z.t(), y.t())
    return z.sum(0)


@custom_op("own::grown", mutates_args=("x",), schema="(Tensor(a0!) x) -> Tensor[]")
def grown(x):
    x.add_(1)
    return [x * 2, x * 3]


@grown.register_fake
def _(x):
    return [torch.empty_like(x), torch.empty_like(x)]


@program(one)
def writes_and_returns_a_list(x):
    y = x * 1
    return grown(y), grown(x), y


@custom_op("own::norm_in_place", mutates_args=("x",))
def norm_in_place(x: Tensor) -> Tensor:
    norm = x.norm()
    x.div_(norm + 1)
    return norm


@norm_in_place.register_fake
def _(x):
    return x.new_empty(())


@program(one)
def writes_and_returns(x):
    z = x * 2
    norm = norm_in_place(z)
    return z + norm


@custom_op("own::chosen", mutates_args=())
def chosen(x: Tensor) -> Tensor:
    return x[x > 0]


@chosen.register_fake
def _(x):
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


@program(one)
def a_size_of_data(x):
    return chosen(x).sum()


@custom_op("own::cubed", mutates_args=())
def cubed(x: Tensor) -> Tensor:
    return x**3


@cubed.register_fake
def _(x):
    return torch.empty_like(x)


def _keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def _backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * 3 * x * x


cubed.register_autograd(_backward, setup_context=_keep)


@program(lambda n: (torch.randn(n, 3, requires_grad=True),))
def with_a_gradient(x):
    return cubed(x * 2)


@custom_op("own::turned", mutates_args=())
def turned(x: Tensor) -> Tensor:
    return x.t().contiguous().t()


@turned.register_fake
def _(x):
    return x.new_empty((x.shape[1], x.shape[0])).t()


@program(one, sizes=(4, 7, 2))
def strides_of_its_own(x):
    return turned(x)


LIBRARY = Library("own", "FRAGMENT")
LIBRARY.define("shifted(Tensor x, SymInt by) -> Tensor")
LIBRARY.impl("shifted", lambda x, by: x + by, "CPU")
torch.library.register_fake("own::shifted", lambda x, by: torch.empty_like(x), lib=LIBRARY)


@program(one)
def defined_in_a_library(x):
    return torch.ops.own.shifted(x, x.shape[0])


LIBRARY.define("composed(Tensor x) -> Tensor")
LIBRARY.impl("composed", lambda x: (x * 2).relu(), "CompositeImplicitAutograd")


@program(one)
def composed_of_others(x):
    return torch.ops.own.composed(x) + 1


@custom_op("own::ruled", mutates_args=())
def ruled(x: Tensor, k: int = 2) -> Tensor:
    return torch.cat([x] * k, 1)


@rules.rule(ruled)
def ruled_type(x, k=2):
    return rules.like(x, (x.shape[0], x.shape[1] * k))


@program(one)
def a_rule_in_place_of_a_fake_kernel(x):
    return ruled(x, 3) + 1


@monograph.decompose(ruled)
def ruled_formula(x, k=2):
    """Leads to core ATen."""
    return torch.cat([x] * k, 1)


@custom_op("own::drawn", mutates_args=(), tags=(torch.Tag.nondeterministic_seeded,))
def drawn(x: Tensor) -> Tensor:
    return x + torch.rand_like(x)


@drawn.register_fake
def _(x):
    return torch.empty_like(x)


@program(one)
def draws_random_numbers(x):
    return drawn(x) + drawn(x)


@custom_op("own::add_to_each", mutates_args=("xs",))
def add_to_each(xs: Sequence[Tensor], y: Tensor) -> None:
    for x in xs:
        x.add_(y)


@program(two)
def writes_to_a_list(x, y):
    xs = [x.clone(), x * 2]
    add_to_each(xs, y)
    return xs[0] + xs[1]


@program(two)
def writes_to_views_in_a_list(x, y):
    z = torch.cat([x, x, y])
    n = x.shape[0]
    add_to_each([z[n : 2 * n], z[2 * n :]], y)
    return z.cos()


LIBRARY.define("padded(Tensor x, SymInt[] sizes, str mode='zeros', bool? after=None) -> Tensor")


def padded(x, sizes, mode="zeros", after=None):
    """Rows before and after."""
    made = x.new_zeros(sizes) if mode == "zeros" else x.new_ones(sizes)
    return torch.cat([x, made] if after else [made, x])


LIBRARY.impl("padded", padded, "CPU")
torch.library.register_fake(
    "own::padded",
    lambda x, sizes, mode="zeros", after=None: x.new_empty(x.shape[0] + sizes[0], x.shape[1]),
    lib=LIBRARY,
)


@program(one)
def sizes_in_a_list(x):
    n, k = x.shape
    return torch.ops.own.padded(x, [2 * n, k], mode="ones", after=True)


LIBRARY.define("halves(Tensor(a) x) -> Tensor(a)")
LIBRARY.impl("halves", lambda x: x[:, :2], "CompositeExplicitAutograd")


@program(one)
def a_view_that_is_declared(x):
    y = x * 1
    z = torch.ops.own.halves(y)
    y.add_(1)
    return z * 2, y


@custom_op("own::suppressed", mutates_args=())
def suppressed(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Which boxes to keep: none that lies on a better one."""
    kept: list[int] = []
    for at in scores.argsort(descending=True).tolist():
        low = torch.maximum(boxes[at, :2], boxes[kept, :2])
        high = torch.minimum(boxes[at, 2:], boxes[kept, 2:])
        if not ((high - low).clamp(0).prod(1) > threshold).any():
            kept.append(at)
    return torch.tensor(kept, dtype=torch.int64)


@suppressed.register_fake
def _(boxes, scores, threshold):
    n = torch.library.get_ctx().new_dynamic_size()
    return boxes.new_empty(n, dtype=torch.int64)


def detections(n):
    """Boxes and how good they are."""
    corners = torch.rand(n, 2) * 4
    return torch.cat([corners, corners + 1], 1), torch.rand(n)


@program(detections)
def a_detector(boxes, scores):
    kept = suppressed(boxes, scores, 0.2)
    return boxes[kept], scores[kept].sum()


@custom_op("own::pooled", mutates_args=())
def pooled(x: Tensor, boxes: Tensor, height: int, width: int) -> Tensor:
    """A patch of the feature map for each box, of one size."""
    area = torch.nn.functional.adaptive_avg_pool2d(x[0], (height, width))
    return area[None] * boxes[:, :1, None, None]


@pooled.register_fake
def _(x, boxes, height, width):
    return x.new_empty(boxes.shape[0], x.shape[1], height, width)


@program(lambda n: (torch.randn(1, 3, 8, 8), torch.rand(n, 4)))
def patches_of_boxes(x, boxes):
    return pooled(x, boxes, 2, 3).flatten(1).sum(1)


@custom_op("own::counted", mutates_args=())
def counted(x: Tensor) -> int:
    return int((x > 0).sum())


@counted.register_fake
def _(x):
    return torch.library.get_ctx().new_dynamic_size()


@program(one)
def a_number_of_data(x):
    return torch.zeros(counted(x)).sum() + counted(x)


@custom_op("own::described", mutates_args=())
def described(x: Tensor) -> tuple[Tensor, bool, bool, float, int]:
    return x + 1, x.dim() == 2, x.shape[1] == 1, x.shape[1] / 2, x.shape[0]


@described.register_fake
def _(x):
    return torch.empty_like(x), x.dim() == 2, x.shape[1] == 1, x.shape[1] / 2, x.shape[0]


@program(one)
def truths_and_fractions(x):
    y, is_matrix, is_column, half, n = described(x)
    z = y if is_matrix else x
    return z * half + n, is_matrix, is_column, half


LIBRARY.define("faded(Tensor x) -> Tensor")
LIBRARY.define("faded_(Tensor(a!) x) -> Tensor(a!)")
LIBRARY.impl("faded", lambda x: x / 3, "CPU")
LIBRARY.impl("faded_", lambda x: x.div_(2), "CPU")
torch.library.register_fake("own::faded", torch.empty_like, lib=LIBRARY)
torch.library.register_fake("own::faded_", lambda x: x, lib=LIBRARY)


@program(one)
def a_namesake_that_computes_otherwise(x):
    y = x * 2
    z = torch.ops.own.faded_(y) + torch.ops.own.faded(y)
    return y, z


# --- wrong ---------------------------------------------------------------------------------------


def exported(forward, *inputs):
    """Export it, plain sizes."""
    return monograph.export(Model(forward), inputs)


ROWS = torch.ones(4, 3)


def drafted(forward):
    """Draft it, and raise the first problem."""
    problem = monograph.draft_export(Model(forward), (ROWS,)).report.problems[0]
    raise RuntimeError(f"{problem.name}: {problem.headline}; {problem.assumed}")


@custom_op("own::bare", mutates_args=())
def bare(x: Tensor, k: int = 2) -> Tensor:
    return torch.cat([x] * k)


@mistake
def no_fake_kernel():
    exported(lambda x: bare(x, 3) + 1, torch.randn(4, 3))


@custom_op("own::bare_found", mutates_args=())
def bare_found(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[x > 0], x.argmax(1)


@mistake
def no_fake_kernel_and_a_size_of_data():
    exported(lambda x: bare_found(x)[1], torch.randn(4, 3, generator=torch.manual_seed(0)))


@custom_op("own::bare_turned", mutates_args=())
def bare_turned(x: Tensor) -> Tensor:
    return x.t().clone()


@mistake
def no_fake_kernel_and_strides_of_its_own():
    monograph.check_custom_op(bare_turned, (torch.randn(4, 3),))


@custom_op("own::shortened", mutates_args=())
def shortened(x: Tensor) -> Tensor:
    return x[1:].clone()


@shortened.register_fake
def _(x):
    return torch.empty_like(x)


@mistake
def another_size():
    monograph.check_custom_op(shortened, (torch.randn(4, 3),))


@custom_op("own::fixed", mutates_args=())
def fixed(x: Tensor) -> Tensor:
    return torch.cat([x, x])


@fixed.register_fake
def _(x):
    return x.new_empty(8, 3)


@mistake
def right_for_the_example_alone():
    monograph.check_custom_op(fixed, (torch.randn(4, 3),))


@custom_op("own::rounded", mutates_args=())
def rounded(x: Tensor) -> Tensor:
    return x.long()


@rounded.register_fake
def _(x):
    return torch.empty_like(x)


@mistake
def another_dtype():
    monograph.check_custom_op(rounded, (torch.randn(4, 3),))


@custom_op("own::flipped", mutates_args=())
def flipped(x: Tensor) -> Tensor:
    return x.t().contiguous().t()


@flipped.register_fake
def _(x):
    return torch.empty_like(x)


@mistake
def other_strides():
    monograph.check_custom_op(flipped, (torch.randn(4, 3),))


@custom_op("own::sneaky", mutates_args=())
def sneaky(x: Tensor) -> Tensor:
    return x.add_(1).clone()


@sneaky.register_fake
def _(x):
    return torch.empty_like(x)


@mistake
def writes_in_secret():
    monograph.check_custom_op(sneaky, (torch.randn(4, 3),))


LIBRARY.define("same(Tensor x) -> Tensor")
LIBRARY.impl("same", lambda x: x, "CPU")
torch.library.register_fake("own::same", torch.empty_like, lib=LIBRARY)


@mistake
def returns_its_argument():
    monograph.check_custom_op(torch.ops.own.same, (torch.randn(4, 3),))


@mistake
def another_size_on_replay():
    exported(lambda x: shortened(x) + 1, ROWS).module()(ROWS)


@mistake
def another_dtype_on_replay():
    exported(lambda x: rounded(x) + 1, ROWS).module()(ROWS)


@mistake
def other_strides_on_replay():
    exported(lambda x: flipped(x) + 1, ROWS).module()(ROWS)


@custom_op("own::mean", mutates_args=())
def mean(x: Tensor) -> float:
    return float(x.mean())


@mean.register_fake
def _(x):
    return 0.0


@mistake
def a_fraction_on_replay():
    exported(lambda x: x - mean(x), ROWS).module()(ROWS)


@custom_op("own::is_positive", mutates_args=())
def is_positive(x: Tensor) -> bool:
    return bool((x > 0).all())


@is_positive.register_fake
def _(x):
    return False


@mistake
def a_truth_on_replay():
    exported(lambda x: x if is_positive(x) else -x, ROWS).module()(ROWS)


@mistake
def an_argument_on_replay():
    exported(lambda x: torch.ops.own.same(x) + 1, ROWS).module()(ROWS)


@mistake
def other_strides_in_a_draft():
    drafted(lambda x: flipped(x) + 1)


@mistake
def an_argument_in_a_draft():
    drafted(lambda x: torch.ops.own.same(x) + 1)


@mistake
def a_rule_with_another_parameter():
    @rules.rule(scaled)
    def scaled_type(x, factor=2.0):
        return x


@mistake
def lowered_writes_through_a_view():
    exported(lambda x: torch.ops.own.halves(x * 1).add_(1), ROWS).run_decompositions()


@mistake
def no_operator():
    monograph.check_custom_op(torch.relu, (torch.randn(4, 3),))


def message(case: Mistake) -> str:
    """What it raises, without where this file lies."""
    try:
        case.call()
    except (MonographError, TypeError, RuntimeError) as error:
        lines = re.sub(r"\S*programs\.py", "programs.py", f"{type(error).__name__}\n{error}")
        return "\n".join(line.rstrip() for line in lines.splitlines()) + "\n"
    raise AssertionError(f"{case.name} raises nothing")


def main() -> None:
    """Rewrite the golden messages."""
    for case in MISTAKES.values():
        (GOLDEN / f"{case.name}.txt").write_text(message(case), encoding="utf-8")


if __name__ == "__main__":
    main()
