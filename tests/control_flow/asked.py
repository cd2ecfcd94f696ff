"""Programs as people write them, whose branches leave lists, names and objects unlike.

Boxes that are kept by score, caches that fill, routing, retries, running best, early exits.
Registered beside `branching`.
"""

import sys

import torch
from torch import nn

from tests.control_flow.branching import DOWN, UP, ZERO, branching
from tests.seeding import reseed

MIXED = torch.tensor([9.0, -1.0, 2.0])
FAR = torch.full((3,), 50.0)
ALL = (UP, DOWN, ZERO, MIXED, FAR)


@branching(*ALL)
def losses_that_are_switched_on(x):
    """Terms are added where data asks for them."""
    losses = [x.abs().mean()]
    if x.max() > 5:
        losses.append(x.pow(2).mean())
    if x.min() < 0:
        losses.append((-x).relu().mean())
    return sum(losses)


@branching(*ALL, refused="branch-side-effect")
def features_by_name(x):
    """A dict of what there is, summed up at the end."""
    found = {"mean": x.mean()}
    if x.max() > 5:
        found["top"] = x.max() * 2
    return torch.stack(list(found.values())).sum(), len(found)


@branching(*ALL)
def in_place_on_the_better_one(x):
    """The one that is chosen is normalised in place."""
    a, b = x + 1, x * 2
    best = a if a.sum() > b.sum() else b
    best.sub_(best.mean())
    return a, b


@branching(*ALL)
def cached_or_new(x):
    """A memo that may hit, and is corrected afterwards."""
    memo = {"k": x.exp()}
    value = memo["k"] if x.sum() > 0 else x.sin()
    value.mul_(0.5)
    return memo["k"] + value


@branching(*ALL)
def message_of_a_check(x):
    """A list of complaints, of which the number is a result."""
    complaints = []
    if x.max() > 5:
        complaints.append("too large")
    if x.min() < 0:
        complaints.append("negative")
    return x * len(complaints)


class Result:
    """What a step gives."""

    def __init__(self, value):
        self.value, self.extra = value, None


@branching(*ALL)
def an_optional_attribute(x):
    """An object has something more, or None."""
    result = Result(x * 2)
    if x.sum() > 10:
        result.extra = x.sum()
    if result.extra is not None:
        return result.value + result.extra
    return result.value


@branching(*ALL)
def object_by_branch(x):
    """Another object, of a class that has methods."""
    if x.sum() > 0:
        result = Result(x + 1)
    else:
        result = Result(x - 1)
        result.extra = x
    out = result.value
    return out if result.extra is None else out + result.extra


@branching(*ALL)
class Pooled(nn.Module):
    """A head that pools what was collected, of submodules that are used or not."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

    def forward(self, x):
        kept = []
        for layer in self.layers:
            y = torch.tanh(layer(x))
            if y.sum() > 0:
                kept.append(y)
        if kept:
            return torch.stack(kept).mean(0)
        return x * 0


@branching(*ALL)
def views_written_where_it_was_positive(x):
    """A view of the one or the other is written to."""
    y = x.clone()
    z = torch.zeros_like(x)
    target = y if x[0] > 0 else z
    target[1:] += 10
    return y - z


@branching(*ALL)
def dtype_asked(x):
    """Whether it is contiguous decides what is computed."""
    y = x.expand(2, 3)
    if x.sum() > 0:
        y = y.clone()
    flat = y.view(-1) if y.is_contiguous() else y.reshape(-1)
    return flat.sum()


@branching(*ALL, refused="branch-side-effect")
def first_seen(x):
    """Sets and tuples of what was seen."""
    seen = {"a"}
    if x.sum() > 0:
        seen.add("b")
    return x * len(seen) + (3 if "b" in seen else 4)


@branching(*ALL)
def stack_machine(x):
    """Pushes and pops."""
    stack = [x]
    if x.sum() > 0:
        stack.append(x * 2)
    top = stack.pop()
    return top + len(stack)


@branching(*ALL)
def nested_helper(x):
    """The list is handed to a function that appends."""

    def note(into, value):
        into.append(value)

    seen = []
    if x.sum() > 0:
        note(seen, x + 1)
    else:
        note(seen, x - 1)
        note(seen, x)
    total = torch.zeros(3)
    for each in seen:
        total = total + each
    return total


@branching(*ALL)
def counts_writes_on_either_side(x):
    """A write on one side is none on the other."""
    y = x.clone()
    if x.sum() > 0:
        y.add_(1)
        n = y._version
    else:
        n = y._version
    return y * n


@branching(*ALL)
def list_from_outside_on_both_sides(x):
    """What a side puts into a list, and returns by another name."""
    kept = [x, x]
    if x.sum() > 0:
        kept[0] = x * 2
        found = kept
    else:
        kept[0] = x * 3
        found = [x + 1, x]
    return kept[0], found


@branching(*ALL)
def experts_by_number(x):
    """One of several functions, by a number from data."""
    experts = [torch.sin, torch.cos, torch.tanh]
    return experts[int(x.argmax())](x)


@branching(*ALL)
class ExpertByNumber(nn.Module):
    """One of several layers, by a number from data."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.experts = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

    def forward(self, x):
        return self.experts[int(x.argmax())](x)


@branching(*ALL)
class ScaleOfItsOwn(nn.Module):
    """A parameter on one side, a buffer on the other."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("mean", torch.tensor([0.5, 0.5, 0.5]))

    def forward(self, x):
        if x.sum() > 0:
            factor = self.scale
        else:
            factor = self.mean
        return x * factor


@branching(UP, DOWN, ZERO, MIXED)
def checked(x):
    """An assertion of torch's on data."""
    torch._assert(x.sum() < 100, "too large")
    return x * 2


@branching(*ALL)
def largest_of_tensors(x):
    """Python's own `max` and `min` of tensors."""
    return max(x[0], x[1], x[2]) - min(x[0], x[1])


@branching(*ALL, stock=False)
def sorted_tensors(x):
    """Python's own `sorted`."""
    return torch.stack(sorted([x[0], x[1], x[2]]))


@branching(*ALL, stock=False)
def sorted_by_key(x):
    """The same tensors, in another order, and as they were where that says nothing."""
    rows = sorted([x * 2, x.abs(), -x], key=lambda each: each.sum(), reverse=True)
    return torch.stack(rows), sorted(range(3), key=lambda i: x[i])


@branching(UP, DOWN, ZERO, MIXED, refused="data-dependent-branch")
def sorted_in_place(x):
    """A list that sorts itself, in C, which tells who changes it meanwhile."""
    items = [x[0], x[1] * 2, x[2], torch.tensor(1.0)]
    items.sort()
    return torch.stack(items)


@branching(UP, DOWN, ZERO, MIXED, refused="data-dependent-branch")
def many_sorted(x):
    """More than a few."""
    return torch.stack(sorted([x[i % 3] * i for i in range(7)]))


@branching(UP, DOWN, ZERO)
def countdown(x):
    """Recursion that ends by data."""

    def again(y, n):
        if n == 0 or y.sum() > 20:
            return y
        return again(y * 2 + 1, n - 1)

    return again(x, 4)


@branching(*ALL, refused="loop-carry-changes")
def keeps_by_score(x):
    """Suppression: what is kept is a list that a `while` fills."""
    keep, order = [], x.argsort(descending=True)
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        order = order[1:][(x[order[1:]] - x[i]).abs() > 1]
    return torch.stack(keep)


@branching(*ALL, refused="loop-carry-changes")
def grows_in_a_while(x):
    """A sequence that gets longer until it is enough."""
    seq = x[:1]
    while seq.sum() < 20 and seq.shape[0] < 6:
        seq = torch.cat([seq, seq[-1:] + 2])
    return seq


@branching(*ALL)
def assigned_under_a_with_in_a_loop(x):
    """A variable that a `with` under an `if` assigns, in a loop on data."""
    n = 0
    y = x
    while y.sum() < 20:
        if y[0] > 1:
            with torch.no_grad():
                step = y.abs() + 1
        else:
            step = y * 0 + 5
        y = y + step
        n = n + 1
    return y, n


@branching(*ALL)
def rows_above(x):
    """Items under an `if` in a loop, stacked where there are any."""
    rows = []
    for i in range(3):
        if x[i] > 1:
            rows.append(x[i] * 2)  # noqa: PERF401 - as people write it
    return torch.stack(rows).sum() if rows else x.sum()


@branching(*ALL)
def best_so_far(x):
    """None until there is one."""
    best = None
    for i in range(3):
        if x[i] > 0:  # noqa: SIM102 - as people write it
            if best is None or x[i] > best:
                best = x[i]
    return x if best is None else x * best


@branching(*ALL)
def retried(x):
    """A step that is repeated while it does not hold, with an `else`."""
    for k in range(3):
        y = x / (k + 1)
        if y.max() < 2:
            break
    else:
        y = x * 0
    return y, k


@branching(*ALL)
def left_in_no_grad(x):
    """A `return` under an `if`, in a mode."""
    with torch.no_grad():
        if x.sum() > 0:
            return x * 2
        y = x * 3
    return y + 1


@branching(*ALL, refused="branch-side-effect")
def handed_out_within_another(x):
    """A list that is longer on one side is in a tuple that a function hands out."""

    def collected():
        found = [x]
        pair = (found, 1)
        if x.sum() > 0:
            found.append(x + 1)
        return pair

    return x * len(collected()[0])


@branching(*ALL, refused="branch-side-effect")
def remembered_by_a_closure(x):
    """An attribute is there on one side, and a function that is handed out looks."""

    def made():
        result = Result(x)
        if x.sum() > 0:
            result.count = 2
        return lambda: getattr(result, "count", 7)

    return x * made()()


@branching(*ALL)
def view_beside_what_may_be_written(x):
    """A view of what is written to on one side is a result."""
    y = x.clone()
    view = y[1:]
    target = y if x[0] > 0 else torch.zeros(3)
    target.add_(10)
    return view, target.sum()


@branching(*ALL)
def two_in_doubt(x):
    """Both are written to, and returned."""
    z = x.clone()
    y = z
    if x[0] > 0:
        y = z + 1
    y.add_(1)
    if x[1] > 0:
        z.mul_(3)
    return y, z


@branching(*ALL)
def asks_and_returns(x):
    """Which it is, and both of them."""
    y = x.clone()
    t = y if x[0] > 0 else torch.zeros(3)
    t.add_(10)
    return y, t, (1 if t is y else 0)


@branching(*ALL)
def routed_in_place(x):
    """Twice, to the one or the other."""
    a, b = x.clone(), x.clone()
    for i in range(2):
        t = a if x[i] > 0 else b
        t.mul_(2)
    return a, b


@branching(*ALL, refused="branch-side-effect" if sys.version_info < (3, 12) else "")
def filtered_and_counted(x):
    """What a comprehension leaves out decides how long its list is; from 3.12 on it is a loop."""
    parts = [each * 2 for each in (x[:2], x[1:]) if each.sum() > 0] or [x]
    return x * len(parts)
