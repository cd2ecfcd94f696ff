"""What changes between calls, or is not what it was when the code was compiled: as in eager code.

A scenario is given what makes a function or module optimized, and returns all that it saw.
"""

import abc
import copy
import gc
import time
import types
import weakref
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from monograph.jit import optimize
from tests.jit.running import plain, quiet

SCENARIOS = {}


def scenario(function):
    """Enter a scenario."""
    SCENARIOS[function.__name__] = function
    return function


def x34(seed=0, **how):
    """A tensor that is the same for both ways."""
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(seed), **how)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.line = nn.Linear(4, 4)
        self.scale = 2.0
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.line(x)) * self.scale


@scenario
def attribute_changes(wrap):
    net = Net().eval()
    call = wrap(net)
    seen = [call(x34())]
    net.scale = 3.0
    seen.append(call(x34()))
    net.scale = x34(5)
    seen.append(call(x34()))
    net.scale = 2
    seen += [call(x34()), call(x34())]
    return seen


@scenario
def places_in_memory(wrap):
    call = wrap(lambda x: (x[1:-1].storage_offset(), x * 1))
    return [call(x34(seed)[first:]) for seed in range(3) for first in (0, 1)]


@scenario
def casts_within_operators(wrap):
    call = wrap(lambda x, w: (F.bilinear(x, x, w), torch.linalg.pinv(x)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return [call(x34(seed), torch.ones(2, 4, 4)) for seed in range(3)]


@scenario
def train_and_eval(wrap):
    net = Net()
    call = wrap(net)
    seen = []
    for mode in (True, False, True, False):
        net.train(mode)
        torch.manual_seed(3)
        seen.append(call(x34()))
    return seen


@scenario
def hooks_come_and_go(wrap):
    net, events = Net().eval(), []
    call = wrap(net)
    seen = [call(x34())]
    one = net.register_forward_hook(lambda m, i, o: events.append("net") or o * 2)
    seen.append(call(x34()))
    two = net.line.register_forward_pre_hook(lambda m, i: (events.append("line"), i[0] + 1)[1:])
    seen += [call(x34()), call(x34())]
    one.remove()
    two.remove()
    seen.append(call(x34()))
    three = nn.modules.module.register_module_forward_hook(lambda m, i, o: events.append("all"))
    seen.append(call(x34()))
    three.remove()
    return [*seen, call(x34()), list(events)]


@scenario
def forward_is_replaced(wrap):
    net = Net().eval()
    call = wrap(net)
    seen = [call(x34())]
    net.line.forward = lambda x: x + 1
    seen.append(call(x34()))
    del net.line.forward
    seen.append(call(x34()))
    before = Net.forward
    Net.forward = lambda self, x: self.line(x) - 1
    seen.append(call(x34()))
    Net.forward = before
    net.line = nn.Identity()
    return [*seen, call(x34())]


@scenario
def parameters_change(wrap):
    net = Net().eval()
    call = wrap(net)
    seen = [call(x34())]
    with torch.no_grad():
        net.line.weight.mul_(2)
    seen.append(call(x34()))
    net.line.weight = nn.Parameter(x34()[:1].repeat(4, 1))
    seen.append(call(x34()))
    net.line.weight.requires_grad_(False)
    net.line.bias.requires_grad_(False)
    seen.append(call(x34()))
    net.double()
    seen.append(call(x34().double()))
    net.line.bias = None
    seen.append(call(x34().double()))
    net.line.weight.data = torch.ones(4, 4, dtype=torch.float64)
    return [*seen, call(x34().double())]


GAIN = 2.0


@scenario
def global_is_rebound(wrap):
    global GAIN
    GAIN = 2.0
    call = wrap(lambda x: x * GAIN)
    seen = [call(x34())]
    GAIN = 3.0
    seen.append(call(x34()))
    GAIN = x34(2)
    seen.append(call(x34()))
    GAIN = 2.0
    return [*seen, call(x34())]


@scenario
def closure_is_rebound(wrap):
    gain = 2

    def f(x):
        return x * gain

    call = wrap(f)
    seen = [call(x34())]
    gain = 3
    seen.append(call(x34()))
    gain = 2
    return [*seen, call(x34())]


@scenario
def builtin_is_shadowed(wrap):
    def f(x):
        return x * len([1, 2])

    f = types.FunctionType(f.__code__, {"__builtins__": __builtins__})
    call = wrap(f)
    seen = [call(x34())]
    f.__globals__["len"] = lambda each: 7
    seen.append(call(x34()))
    del f.__globals__["len"]
    return [*seen, call(x34())]


@scenario
def defaults_and_code_change(wrap):
    def g(x, by=2, *, plus=1):
        return x * by + plus

    def f(x, by=2):
        return g(x) * by

    call = wrap(f)
    seen = [call(x34())]
    g.__defaults__ = (5,)
    seen.append(call(x34()))
    g.__kwdefaults__["plus"] = 3
    seen.append(call(x34()))
    f.__defaults__ = (7,)
    seen.append(call(x34()))
    g.__code__ = (lambda x, by=2, *, plus=1: x - by - plus).__code__
    return [*seen, call(x34())]


@scenario
def arguments_alias(wrap):
    def f(x, y):
        same = x is y
        z = x * 2
        return z + y, same, x, [x, y][0] is y

    call = wrap(f)
    a, b = x34(), x34(1)
    return [call(a, b), call(a, a), call(b, b), call(a, b), call(a, a.view(3, 4)), call(a.T.T, a)]


@scenario
def in_place_on_aliases(wrap):
    def f(x, y):
        x.add_(1)
        return y * 2, y

    call = wrap(f)
    seen = []
    a = x34()
    for pair in ((a, x34(1)), (a, a), (a, a[:]), (a, a.T.contiguous().T), (a, x34(2))):
        seen += [call(*pair), a.clone()]
    return seen


@scenario
def lists_alias(wrap):
    def f(one, two):
        one.append(5)
        return len(two), sum(two)

    call = wrap(f)
    seen = []
    for _ in range(2):
        a, b = [1], [2]
        seen += [call(a, b), call(a, a), call([1], [2]), call(b, b), list(a), list(b)]
    return seen


@scenario
def objects_alias(wrap):
    class Box:
        def __init__(self, n):
            self.n = n

    def f(a, b, x):
        a.n = a.n + 1
        return x * b.n, a is b

    call = wrap(f)
    seen = []
    for _ in range(2):
        a, b = Box(1), Box(1)
        seen += [call(a, b, x34()), call(Box(1), Box(1), x34())]
        c = Box(1)
        seen += [call(c, c, x34()), call(c, c, x34()), a.n, b.n, c.n]
    return seen


@scenario
def views_are_inputs(wrap):
    base = torch.arange(48.0).view(6, 8)

    def f(x):
        y = x.reshape(-1)
        y += 1
        return y, x.is_contiguous(), x.stride(), y.data_ptr() == x.data_ptr()

    call = wrap(f)
    shapes = (base[:3, :4], base[::2, :4], base[:4, :3].T, base.view(-1)[:12].view(3, 4))
    return [each for _ in range(2) for shape in shapes for each in (call(shape), base.clone())]


@scenario
def layouts_and_dtypes(wrap):
    def f(x):
        return x * 2 if x.dtype.is_floating_point else x + 1, x.device, x.is_contiguous()

    call = wrap(f)
    kinds = (x34(), x34().double(), x34().long(), x34().T, x34() > 0, x34().expand(2, 3, 4))
    return [call(each) for _ in range(2) for each in kinds]


@scenario
def requires_grad_changes(wrap):
    def f(x, w):
        y = x * w
        return y * (2 if y.requires_grad else 3), y.is_leaf

    call = wrap(f)
    w = torch.ones(4)
    seen = [call(x34(), w)]
    w.requires_grad_()
    seen.append(call(x34(), w))
    with torch.no_grad():
        seen.append(call(x34(), w))
    with torch.inference_mode():
        seen.append(call(x34(), w.detach())[0].is_inference())
    return [*seen, call(x34(), w), call(x34(), w.detach())]


@scenario
def modes_around(wrap):
    line = nn.Linear(4, 4)
    with torch.no_grad():
        line.weight.fill_(0.1)
        line.bias.fill_(1)

    call = wrap(lambda x: (line(x) + torch.ones(4), torch.is_grad_enabled()))
    seen = [call(x34())]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        seen.append(call(x34()))
    with torch.no_grad():
        seen.append(call(x34()))
    torch.set_default_dtype(torch.float64)
    try:
        seen.append(call(x34().float()) if False else plain(torch.ones(1)))
    finally:
        torch.set_default_dtype(torch.float32)
    return [*seen, call(x34())]


@scenario
def gradients(wrap):
    net = Net().eval()
    call = wrap(net)
    seen = []
    for seed in range(4):
        x = x34(seed).requires_grad_()
        net.zero_grad()
        y = call(x)
        y.square().sum().backward()
        seen += [y, x.grad, net.line.weight.grad.clone()]
    return seen


@scenario
def gradients_across_breaks(wrap):
    w = x34(9).requires_grad_()

    def f(x):
        y = x * w
        if y.sum() > 0:
            y = y.relu()
        print("between")
        return (y * 2).sum()

    call = wrap(f)
    seen = []
    for seed in range(4):
        w.grad = None
        y = call(x34(seed))
        y.backward()
        seen += [y, w.grad]
    return seen


@scenario
def training_steps(wrap):
    net = Net()
    net.drop.p = 0.2
    call = wrap(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    torch.manual_seed(5)
    seen = []
    for seed in range(5):
        optimizer.zero_grad()
        loss = call(x34(seed)).square().mean()
        loss.backward()
        optimizer.step()
        seen.append(loss.detach())
    return [*seen, net.line.weight.clone()]


@scenario
def half_done_effects(wrap):
    kept, box = [], types.SimpleNamespace(n=0)

    class Counter:
        n = 0

    counter = Counter()

    def f(x, table):
        counter.n += 1
        kept.append(x.shape[0])
        y = F.embedding(x, table)
        kept.append("done")
        return y

    call = wrap(f)
    table = torch.ones(5, 2)
    seen = []
    for index in (1, 4, 7, 2, 9, 3):
        try:
            seen.append(call(torch.tensor([index]), table))
        except IndexError as error:
            seen.append(type(error).__name__)
        seen += [list(kept), counter.n]
    return [*seen, box.n]


@scenario
def half_done_in_place(wrap):
    total = torch.zeros(2)
    kept = []

    def f(x, table):
        total.add_(1)
        kept.append(1)
        try:
            y = F.embedding(x, table)
        except IndexError:
            kept.append("caught")
            y = total * 0
        return y + torch.rand(2)

    call = wrap(f)
    torch.manual_seed(0)
    seen = []
    for index in (1, 7, 2, 9, 3, 3):
        seen += [call(torch.tensor([index]), torch.ones(5, 2)), list(kept), total.clone()]
    return seen


@scenario
def half_done_by_operators_in_place(wrap):
    total = torch.zeros(2)

    def f(x, table):
        try:
            total.add_(1)
            y = table.clone()
            y.index_add_(0, x, torch.ones(1))
            total.add_(10)
        except IndexError:
            y = total * 0
        return y + 1

    call = wrap(f)
    seen = []
    for index in (1, 7, 2, 9, 3, 3):
        seen += [call(torch.tensor([index]), torch.ones(5)), total.clone()]
    return seen


@scenario
def exception_after_effects(wrap):
    kept = []

    def g(x, n):
        kept.append(("g", n))
        if n > 2:
            raise ValueError(n)
        return x * n

    def f(x, n):
        kept.append(("f", n))
        try:
            return g(x, n)
        finally:
            kept.append("end")

    call = wrap(f)
    seen = []
    for n in (1, 3, 1, 3, 2, 4):
        try:
            seen.append(call(x34(), n))
        except ValueError as error:
            seen.append(repr(error))
        seen.append(list(kept))
    return seen


@scenario
def numbers_that_compare_equal(wrap):
    def f(x, n):
        return x * n, type(n).__name__, str(n)

    call = wrap(f)
    numbers = (1, 1.0, True, 0.0, -0.0, 0, False, float("nan"), float("nan"), 2, np.float64(2.0))
    return [call(x34(), n)[1:] for _ in range(2) for n in numbers]


@scenario
def containers_change(wrap):
    config = {"gain": 2, "names": ["a"]}

    def f(x, items):
        total = x * config["gain"] + len(config["names"])
        for item in items:
            total = total + item
        return total, list(config)

    call = wrap(f)
    seen = [call(x34(), [1, 2])]
    config["gain"] = 3
    seen.append(call(x34(), [1, 2]))
    config["names"].append("b")
    seen.append(call(x34(), (1, 2, 3)))
    config["new"] = 1
    seen.append(call(x34(), [x34(1), 2]))
    del config["gain"]
    config["gain"] = 3
    return [*seen, call(x34(), []), call(x34(), [1, 2])]


@scenario
def structure_of_arguments(wrap):
    @dataclass
    class Batch:
        x: torch.Tensor
        n: int = 1

    def f(batch, *rest, **named):
        y = batch.x if isinstance(batch, Batch) else batch["x"]
        return y * (len(rest) + 1), sorted(named)

    call = wrap(f)
    kinds = (Batch(x34()), {"x": x34(2)}, OrderedDict(x=x34(3)), Batch(x34(4), 5))
    return [
        call(each, *([1] * n), **dict.fromkeys("ab"[:n], 1)) for n in range(3) for each in kinds
    ]


@scenario
def global_dict_of_functions(wrap):
    table = {"f": torch.relu, "g": lambda x: x * 2}

    def f(x, name):
        return table[name](x) if name in table else x

    call = wrap(f)
    seen = [call(x34(), "f"), call(x34(), "g"), call(x34(), "h")]
    table["f"] = torch.tanh
    seen.append(call(x34(), "f"))
    table["h"] = torch.neg
    return [*seen, call(x34(), "h"), call(x34(), "g")]


@scenario
def function_of_torch_is_replaced(wrap):
    call = wrap(lambda x: torch.relu(x) + F.gelu(x))
    seen = [call(x34())]
    before = torch.relu
    torch.relu = torch.tanh
    try:
        seen.append(call(x34()))
    finally:
        torch.relu = before
    return [*seen, call(x34())]


@scenario
def class_changes(wrap):
    class Op:
        gain = 2

        @property
        def half(self):
            return self.gain / 2

        def apply(self, x):
            return x * self.gain * self.half

    op = Op()
    call = wrap(lambda x: op.apply(x))
    seen = [call(x34())]
    Op.gain = 3
    seen.append(call(x34()))
    op.gain = 5
    seen.append(call(x34()))
    Op.apply = lambda self, x: x - self.gain
    seen.append(call(x34()))
    Op.half = 7
    Op.apply = lambda self, x: x - self.half
    seen.append(call(x34()))
    op.__class__ = type("Other", (), {"apply": lambda self, x: x})
    return [*seen, call(x34())]


@scenario
def results_are_new_objects(wrap):
    def f(x):
        return [x], {"x": x}, (lambda: x)

    call = wrap(f)
    one, two = call(x34()), call(x34())
    one[0].append(1)
    one[1]["y"] = 2
    one[2].tag = 1
    three = call(x34())
    return [len(two[0]), len(three[0]), len(three[1]), hasattr(three[2], "tag"), one[0] is two[0]]


@scenario
def returned_state_is_the_object(wrap):
    kept = [1, 2]
    box = {"a": kept}

    def f(x):
        return kept, box["a"], x

    call = wrap(f)
    a = x34()
    return [[r[0] is kept, r[1] is kept, r[2] is a] for r in (call(a), call(a), call(a))]


@scenario
def subclasses_and_others(wrap):
    class Sub(torch.Tensor):
        pass

    def f(x):
        return x * 2

    call = wrap(f)
    kinds = (
        x34(),
        x34().as_subclass(Sub),
        nn.Parameter(x34()),
        3,
        2.5,
        np.ones(2),
        x34().to_sparse(),
    )
    seen = []
    for each in (*kinds, *kinds):
        result = call(each)
        seen.append((type(result).__name__, str(result)))
    return seen


@scenario
def tensors_remember_attributes(wrap):
    def f(x):
        x.seen = getattr(x, "seen", 0) + 1
        return x * x.seen

    call = wrap(f)
    a = x34()
    return [call(a), call(a), call(x34()), a.seen]


@scenario
def grad_is_read(wrap):
    w = torch.ones(4, requires_grad=True)

    def f(x):
        return x if w.grad is None else x + w.grad

    call = wrap(f)
    seen = [call(x34())]
    (w * 3).sum().backward()
    seen.append(call(x34()))
    w.grad = None
    return [*seen, call(x34())]


@scenario
def iterators_as_arguments(wrap):
    def f(x, it):
        return x * sum(it), x + len(list(it))

    call = wrap(f)
    it = iter([1, 2, 3])
    next(it)
    seen = [call(x34(), iter([1, 2, 3])), call(x34(), it), call(x34(), iter([]))]
    seen += [call(x34(), (n for n in (1, 2))), call(x34(), range(3)), call(x34(), iter([1, 2, 3]))]
    half = iter([4, 5])

    def g(x, it):
        for n in it:
            x = x * n
            break
        return x

    step = wrap(g)
    return [*seen, step(x34(), half), step(x34(), half), step(x34(), half), list(half)]


@scenario
def deep_copies(wrap):
    net = Net().eval()
    call = wrap(net)
    seen = [call(x34())]
    other = copy.deepcopy(call)
    other.scale = 9.0
    with torch.no_grad():
        other.line.bias.fill_(3)
    seen += [call(x34()), other(x34()), call(x34()), other.scale, net.scale]
    return [*seen, sorted(call.state_dict()), isinstance(call, Net)]


@scenario
def nested_functions_with_state(wrap):
    def make():
        n = 0

        def step(x):
            nonlocal n
            n += 1
            print(n)
            return x * n

        return step

    def f(x):
        one, two = make(), make()
        return one(x) + one(x) + two(x)

    call = wrap(f)
    return [call(x34(seed)) for seed in range(4)]


@scenario
def del_and_locals(wrap):
    def f(x, flag):
        y = x * 2
        if flag:
            del y
        try:
            return y
        except UnboundLocalError as error:
            return str(error), sorted(locals())

    call = wrap(f)
    return [call(x34(), flag) for flag in (False, True, False, True)]


@scenario
def recursion_through_state(wrap):
    depth = []

    def f(x, n):
        depth.append(n)
        if n:
            print("down", n)
            x = f(x + n, n - 1)
            print("up", n)
        depth.pop()
        return x * 2

    call = wrap(f)
    return [call(x34(), n) for n in (0, 2, 1, 2)] + [list(depth)]


@scenario
def shared_storage_of_results(wrap):
    def f(x):
        y = x.view(-1)
        z = y[2:5]
        print("mid")
        return x, y, z, x.detach()

    call = wrap(f)
    seen = []
    for seed in range(3):
        results = call(x34(seed))
        results[2].add_(10)
        seen.append(results)
    return seen


@scenario
def dynamic_sizes(wrap):
    def f(x):
        n = x.shape[0]
        y = x.reshape(n * 2, -1) if n else x
        return y.sum(0) * n, y.shape

    call = wrap(f)
    return [call(torch.ones(n, 4)) for n in (3, 4, 5, 0, 1, 2, 3, 9, 10, 11, 12, 13)]


@scenario
def iterators_are_consumed(wrap):
    def f(x, it):
        return x * next(it, 0), list(zip(it, [1])), x + sum(it)

    call = wrap(f)
    seen = []
    for _ in range(3):
        it = iter([1, 2, 3, 4])
        seen += [call(x34(), it), call(x34(), it), list(it)]
        it = enumerate("abc")
        seen += [wrap(lambda x, it: (next(it), tuple(it)))(x34(), it), list(it)]
    return seen


@scenario
def objects_are_keys(wrap):
    class Key:
        pass

    one, two = Key(), Key()
    table = {one: 1, two: 2}
    kept = [one]

    def f(x, key):
        return x * table[key], key in kept, kept.count(key), key == one

    call = wrap(f)
    return [call(x34(), key) for _ in range(2) for key in (one, two)]


@scenario
def super_reads_self(wrap):
    class Base(nn.Module):
        def forward(self, x):
            return x * self.gain

    class Sub(Base):
        def __init__(self, gain):
            super().__init__()
            self.gain = gain

        def forward(self, x):
            return super().forward(x) + 1

    one, two = Sub(2), Sub(3)

    @wrap
    def f(net, x):
        return net(x)

    seen = [f(one, x34()), f(two, x34()), wrap(one)(x34()), wrap(two)(x34())]
    one.gain = 7
    return [*seen, f(one, x34()), f(two, x34())]


@scenario
def attributes_appear(wrap):
    class Box:
        pass

    class Answers:
        def __getattr__(self, name):
            if name == "n":
                return 3
            raise AttributeError(name)

    def f(x, box):
        n = getattr(box, "n", 1)
        try:
            m = box.m
        except AttributeError:
            m = 10
        return x * n + m, hasattr(box, "k")

    call = wrap(f)
    seen = []
    for box in (Box(), Answers(), nn.Identity()):
        seen += [call(x34(), box), call(x34(), box)]
        box.n = 5
        seen.append(call(x34(), box))
        box.m = 6
        seen.append(call(x34(), box))
        type(box).k = 1
        seen.append(call(x34(), box))
        del type(box).k
        del box.n
        seen.append(call(x34(), box))
    return seen


@scenario
def texts_of_objects(wrap):
    class Named:
        def __init__(self, name):
            self.name = name

        def __repr__(self):
            return f"<{self.name}>"

    def f(x, named):
        return x + 1, f"{named}", str([named]), "%s" % named, f"{named}", repr((named,))

    call = wrap(f)
    return [call(x34(), Named(name)) for name in "abab"]


@scenario
def numbers_of_other_classes(wrap):
    class Int(int):
        def __mul__(self, other):
            return "product"

    def f(x, n):
        return x.shape[0] * n, n * 2, n + 1

    call = wrap(f)
    numbers = (2, Int(2), np.int64(2), np.float32(2), np.ones(2), 2.0, np.ones(3), Int(3))
    return [[str(each) for each in call(x34(), n)] for _ in range(2) for n in numbers]


@scenario
def other_containers(wrap):
    from collections import Counter, defaultdict, deque

    def f(x, kept):
        if isinstance(kept, deque):
            kept.append(x.shape[0])
            return x, list(kept)
        kept["a"] += 1
        return x * kept["a"], dict(kept), kept.get("b")

    call = wrap(f)
    seen = []
    for _ in range(2):
        for kept in (Counter("ab"), defaultdict(int), deque([1], maxlen=2)):
            seen += [call(x34(), kept), call(x34(), kept), list(kept)]
    return seen


@scenario
def slots_and_descriptors(wrap):
    class Twice:
        def __get__(self, owner, kind):
            return owner.n * 2

    class Box:
        __slots__ = ("n",)
        twice = Twice()

    def f(x, box):
        box.n = box.n + 1
        return x * box.twice

    call = wrap(f)
    box = Box()
    box.n = 1
    return [call(x34(), box), call(x34(), box), call(x34(), box), box.n]


@scenario
def views_of_dicts(wrap):
    table = {"a": 1, "b": 2}

    def f(x, key):
        items = table.items()
        table[key] = 3
        return x * len(items), list(items), sorted(table.keys())

    call = wrap(f)
    return [call(x34(), key) for key in "abcabd"]


@scenario
def cells_are_shared(wrap):
    def make():
        n = 1

        def get():
            return n

        def put(value):
            nonlocal n
            n = value

        return get, put

    get, put = make()

    def f(x):
        before = get()
        put(before + 1)
        return x * get(), before

    call = wrap(f)
    seen = [call(x34()), call(x34())]
    put(1)
    return [*seen, call(x34()), get()]


@scenario
def class_attributes_count(wrap):
    class Net(nn.Module):
        count = 0

        def forward(self, x):
            Net.count += 1
            type(self).last = self.count
            return x * self.count

    net = Net()
    call = wrap(net)
    return [call(x34()), call(x34()), Net.count, call(x34()), Net.last]


@scenario
def mode_is_restored_when_it_raises(wrap):
    table = torch.ones(5, 2, requires_grad=True)

    def f(x):
        with torch.no_grad():
            y = F.embedding(x, table)
            if x.dim() > 5:
                y = y + 1
        return y * table.sum(), torch.is_grad_enabled()

    call = wrap(f)
    seen = []
    for index in (1, 2, 9, 3, 9, 4):
        try:
            seen.append(call(torch.tensor([index])))
        except IndexError:
            seen.append(torch.is_grad_enabled())
    return seen


@scenario
def list_of_states(wrap):
    def f(x, states):
        new = []
        for i, state in enumerate(states):
            x = x + state["h"]
            state["h"] = x * 2
            new.append(dict(state, i=i))
        states[0]["seen"] = True
        return x, new

    call = wrap(f)
    states = [{"h": x34(i)} for i in range(3)]
    return [call(x34(), states), call(x34(), states), call(x34(), states), states]


@scenario
def a_function_is_its_own_argument(wrap):
    def f(x, g, n):
        return g(x, g, n - 1) * 2 if n else x

    call = wrap(f)
    return [call(x34(), f, 2), call(x34(), call, 2), call(x34(), lambda x, g, n: x + n, 2)]


@scenario
def methods_are_replaced_on_objects(wrap):
    class Op:
        def __init__(self, n):
            self.n = n

        def run(self, x):
            return x * self.n

    def f(x, run):
        return run(x)

    call = wrap(f)
    one, two = Op(2), Op(3)
    seen = [call(x34(), one.run), call(x34(), two.run), call(x34(), one.run)]
    one.n = 5
    one.run = lambda x: x - 1
    return [*seen, call(x34(), one.run), call(x34(), Op(9).run), call(x34(), torch.relu)]


@scenario
def globals_are_written_by_others(wrap):
    global GAIN

    def g():
        global GAIN
        GAIN += 1

    def f(x):
        g()
        y = x * GAIN
        globals()["GAIN"] = 10
        return y + GAIN

    GAIN = 1
    call = wrap(f)
    seen = [call(x34()), GAIN]
    GAIN = 1
    return [*seen, call(x34()), GAIN, call(x34())]


@scenario
def tensors_as_truths_in_containers(wrap):
    def f(x):
        flags = [x.sum() > 0, x.mean() > 100]
        return any(flags), all(flags), [bool(each) for each in flags], x[flags[0].long()]

    call = wrap(f)
    return [call(x34(seed) + shift) for seed in range(3) for shift in (0.0, 1.0, 200.0)]


@scenario
def in_place_on_a_view_of_a_leaf(wrap):
    w = torch.zeros(3, 4, requires_grad=True)

    def f(x):
        y = w.clone()
        z = y[0]
        z += x[0]
        y[1:] *= 2
        return y, y.grad_fn is not None

    call = wrap(f)
    seen = []
    for seed in range(3):
        y, has = call(x34(seed))
        y.sum().backward()
        seen += [y, has, w.grad.clone()]
    return seen


@scenario
def parameters_are_iterated(wrap):
    net = Net()

    def f(scale):
        total = 0
        for name, parameter in net.named_parameters():
            total = total + parameter.norm() * scale * len(name)
        return total, [n for n, _ in net.named_children()]

    call = wrap(f)
    seen = [call(1), call(2)]
    net.extra = nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(net.extra.weight)
    return [*seen, call(1), call(2)]


@scenario
def own_autograd_function(wrap):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    call = wrap(lambda x: Double.apply(x + 1) * 3)
    seen = []
    for seed in range(3):
        x = x34(seed).requires_grad_()
        y = call(x)
        y.sum().backward()
        seen += [y, x.grad]
    return seen


@scenario
def gradient_inside(wrap):
    def f(x):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad((x * x).sum(), x)
        return g, x.requires_grad

    call = wrap(f)
    return [call(x34(seed)) for seed in range(4)]


@scenario
def ranges_and_slices_that_compare_equal(wrap):
    by = wrap(lambda x, r: x * r.stop + r.start - r.step)
    ranges = (range(0, 4, 2), range(0, 3, 2), range(0), range(5, 5), range(7, 3), range(0, 1, 9))
    seen = [by(x34(), each) for each in (*ranges, *ranges)]
    part = wrap(lambda x, s: x[s])
    for each in (slice(1, 2), slice(1.0, 2.0), slice(np.int64(1), None), slice(True, 2)):
        try:
            seen.append(part(x34(), each))
        except TypeError as error:
            seen.append(str(error))
    return seen


UNSET = str(b"unset!", "ascii")


@scenario
def identity_of_texts_and_numbers(wrap):
    same = wrap(lambda x, a, b: x if a is b else -x)
    given = wrap(lambda x, a=UNSET: x if a is UNSET else -x)
    one, two = int("1000"), int("1000")
    pairs = ((one, one), (one, two), (two, one), (UNSET, UNSET), (UNSET, str(b"unset!", "ascii")))
    seen = [same(x34(), *pair) for pair in (*pairs, *pairs)]
    return [*seen, given(x34()), given(x34(), str(b"unset!", "ascii")), given(x34(), UNSET)]


@scenario
def split_where_a_tensor_says(wrap):
    def f(x, at):
        parts = torch.tensor_split(x, at)
        x += 1
        return len(parts), [part.shape[0] for part in parts]

    call = wrap(f)
    return [call(torch.ones(6, 4), torch.tensor(at)) for at in ([2], [3], [2, 3], [2], 2, 3)]


@scenario
def classes_are_registered(wrap):
    kind = abc.ABCMeta("Kind", (), {})

    class One:
        pass

    class Base:
        pass

    class Sub(Base):
        pass

    def f(x, a, b):
        return x * 2 if isinstance(a, kind) else x, isinstance(b, Base), callable(a), bool(a)

    call = wrap(f)
    seen = [call(x34(), One(), Sub()), call(x34(), One(), Sub())]
    kind.register(One)
    seen.append(call(x34(), One(), Sub()))
    One.__call__ = lambda self: 1
    seen.append(call(x34(), One(), Sub()))
    One.__bool__ = lambda self: False
    seen.append(call(x34(), One(), Sub()))
    Sub.__bases__ = (One,)
    return [*seen, call(x34(), One(), Sub())]


@scenario
def classes_take_attributes_over(wrap):
    class Descriptor:
        def __get__(self, owner, kind):
            return 7

    class Owner:
        held = Descriptor()

    owner = Owner()
    owner.n = 2
    call = wrap(lambda x: x * owner.n + owner.held)
    seen = [call(x34()), call(x34())]
    Owner.n = property(lambda self: 5)
    seen.append(call(x34()))
    owner.__dict__["held"] = 3
    seen.append(call(x34()))
    Descriptor.__set__ = lambda self, owner, value: None
    return [*seen, call(x34())]


@scenario
def truth_of_objects_and_modules(wrap):
    class Box:
        pass

    class Layer(nn.Module):
        pass

    box, layer = Box(), Layer()
    call = wrap(lambda x: (x if box else -x, 1 if layer else 2))
    seen = [call(x34()), call(x34())]
    Layer.__len__ = lambda self: 0
    seen.append(call(x34()))
    Box.__len__ = lambda self: 0
    return [*seen, call(x34())]


@scenario
def answers_of_code_that_is_not_seen(wrap):
    class Key:
        pass

    key = Key()
    table = weakref.WeakKeyDictionary({key: 1})
    flags = torch.backends.cuda.matmul

    def f(x):
        return x * len(table), flags.allow_tf32, torch.is_anomaly_enabled()

    call = wrap(f)
    seen = [call(x34()), call(x34())]
    before = flags.allow_tf32
    flags.allow_tf32 = not before
    del key
    gc.collect()
    try:
        with torch.autograd.set_detect_anomaly(True):
            seen.append(call(x34()))
    finally:
        flags.allow_tf32 = before
    return [*seen, call(x34())]


@scenario
def generators_are_left(wrap):
    seen, kept = [], []

    def rows(x):
        try:
            for i in range(x.shape[0]):
                yield x[i] * i
        finally:
            seen.append("closed")

    def f(x, how):
        total = torch.zeros(4)
        iterator = rows(x)
        for i, row in enumerate(iterator):
            if i == 2:
                break
            total = total + row
        if how == 1:
            iterator.close()
        elif how == 2:
            kept.append(iterator)
        del iterator
        seen.append("behind")
        return total

    call = wrap(f)
    results = []
    for n, how in ((3, 0), (3, 0), (5, 1), (2, 1), (4, 2), (3, 2), (0, 0), (5, 0)):
        results += [call(torch.ones(n, 4), how), list(seen)]
    kept.clear()
    return [*results, list(seen)]


@scenario
def objects_are_told_of_their_end(wrap):
    seen = []

    class Handle:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            seen.append(self.n)

    def f(x, n):
        one = Handle(n)
        y = x * one.n
        del one
        seen.append("between")
        two = Handle(n + 10)
        seen.append("end")
        return y * two.n

    call = wrap(f)
    return [each for n in (1, 1, 2, 1, 3) for each in (call(x34(), n), list(seen))]


class Sub(torch.Tensor):
    pass


@scenario
def classes_of_tensors_are_asked(wrap):
    def f(x):
        kinds = {torch.Tensor: 1, Sub: 2}
        time.sleep(0)
        same = [type(each) is torch.Tensor for each in (x, x)]
        return type(x).__name__, isinstance(x, nn.Parameter), issubclass(type(x), Sub), kinds, same

    call, one = wrap(f), torch.ones(2)
    given = (one, one.as_subclass(Sub), nn.Parameter(one), one, one.as_subclass(Sub))
    return [call(each) for each in given * 2]


@scenario
def tensors_are_none_at_other_times(wrap):
    class Box:
        def __init__(self, value):
            self.value = value

    ways = {
        "an argument": (lambda x, y: x if y is None else -x, lambda v: v),
        "an attribute": (lambda x, y: (x, y.value is None), Box),
        "an item": (lambda x, y: (x, y[0] is not None, 1 if y[0] is None else 2), lambda v: [v]),
        "a value of a dict": (lambda x, y: (x, y.get("a") is None), lambda v: {"a": v}),
        "the base of a view": (lambda x, y: (x, y._base is None), lambda v: v),
    }
    seen = []
    for way, make in ways.values():
        call = wrap(lambda x, y, way=way: (way(x, y), time.sleep(0), way(x, y)))
        for value in (x34()[0], x34(), None, x34(), None, 5) * 2:
            try:
                seen.append(call(x34(), make(value)))
            except AttributeError as error:
                seen.append(str(error))
    return seen


@scenario
def methods_of_subclasses_are_called(wrap):
    call = wrap(lambda x: (x.sum() + x * 2, x.T, torch.relu(x)))
    return [call(x34().as_subclass(Sub) if n % 2 else x34()) for n in range(6)]


class Index:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n

    def keys(self):
        return [self.n]

    def __getitem__(self, key):
        return key * 2


@scenario
def objects_are_indexes(wrap):
    ways = {
        "of a range": lambda _, v: range(9)[v],
        "of a text": lambda _, v: ("abcdef"[v], "abcdef"[:v]),
        "of a list": lambda _, v: ([1, 2, 3, 4, 5][v:], [1, 2, 3, 4, 5].pop(v)),
        "of a tensor": lambda x, v: (x[:v], x[v:]),
        "a slice": lambda _, v: (slice(v).indices(v), [1, 2, 3, 4][slice(0, v)]),
        "of digits": lambda _, v: round(1.23456, v),
        "a mapping": lambda _, v: dict(v),
    }
    seen = []
    for way in ways.values():
        call = wrap(way)
        seen.append([call(torch.arange(6), Index(n)) for n in (1, 2, 2, 3, 1)])
    return seen


@scenario
def ends_of_objects_are_seen_by_weak_references(wrap):
    class Thing:
        pass

    seen = []

    def f(x):
        thing = Thing()
        reference = weakref.ref(thing, lambda _: seen.append("gone"))
        y = x * 2
        seen.append(reference() is thing)
        del thing
        seen.append(reference() is None)
        return y + 1

    call = wrap(f)
    return [call(x34()) for _ in range(4)], seen


@scenario
def inference_mode_and_autocast_within(wrap):
    torch.manual_seed(1)
    net = nn.Linear(4, 4)

    def f(x):
        with torch.inference_mode():
            a = net(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            b = net(x)
        return a.is_inference(), b

    call = wrap(f)
    return [call(x34()) for _ in range(4)]


@scenario
def padding_makes_nested_tensors(wrap):
    torch.manual_seed(2)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    call = wrap(lambda x, hidden: encoder(x, src_key_padding_mask=hidden) + 1)
    hidden = torch.tensor([[False, False, True], [False, False, False]])
    with torch.no_grad():
        return [call(x34()[None].expand(2, 3, 4), hidden) for _ in range(3)]


@scenario
def recurrent_layers_in_autocast(wrap):
    torch.manual_seed(3)
    layers = nn.RNN(4, 2), nn.LSTM(4, 2)

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return [layer(x @ torch.eye(4))[0] for layer in layers]

    seen = []
    for mode in (torch.inference_mode, torch.no_grad):
        call = wrap(f)
        with mode():
            seen += [call(x34()) for _ in range(3)]
    return seen


@scenario
def run_again_by_a_checkpoint(wrap):
    layer = nn.Linear(4, 4)
    with torch.no_grad():
        layer.weight.fill_(0.1)
        layer.bias.fill_(1)

    call, seen = wrap(lambda x: layer(x).sin().cos()), []
    for _ in range(3):
        x = x34().requires_grad_()
        torch.utils.checkpoint.checkpoint(call, x, use_reentrant=False).sum().backward()
        seen.append(x.grad)
    return seen


@scenario
def a_fast_path_in_autocast(wrap):
    torch.manual_seed(4)
    call = wrap(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval())
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        return [call(x34()[None]) for _ in range(3)]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("name", SCENARIOS)
def test_as_in_eager_code(name):
    """What the scenario sees is what it sees without us."""
    before = torch.is_grad_enabled()
    expected = plain(SCENARIOS[name](lambda each: each))
    found = plain(quiet(SCENARIOS[name], optimize()))
    assert found == expected
    assert torch.is_grad_enabled() == before


def differential(function, calls, state):
    """What calls return, with what they leave behind, just in time beside eager code."""
    found = []
    for run in (function, optimize()(function)):
        state.clear()
        found.append([(plain(run(*args)), plain(dict(state))) for args in calls])
    assert found[0] == found[1]


def test_numbers_that_vary_keep_their_identity_and_type():
    """Also where they are written to objects from outside, and used as keys."""
    state, same = {}, 2.5

    def f(x, a, b):
        state.setdefault("seen", []).append((a + 1, type(a)))
        state[a] = b
        return x * a, a is b, a == b, [a], f"{a}", type(a), -a, a or b

    pairs = ((1.5, 2.5), (same, same), (3.5, same), (0.0, -0.0), (-0.0, 1.25), (7, 7.0), (8, 1))
    x = torch.ones(2)
    differential(f, [(x, *pair) for pair in pairs], state)


def test_a_dict_that_is_another_objects():
    """One object's `__dict__` is read, and an attribute of another is set, which is the same."""
    state = {}

    class Box:
        def __init__(self, v):
            self.v = v

    def f(x, first):
        boxes = [Box(1), Box(2)]
        state.setdefault("boxes", boxes)
        one, two = state["boxes"][first], state["boxes"][1]
        table = one.__dict__
        two.v = two.v + 10
        state["v"] = [table["v"], two.v, vars(one)["v"]]
        return x * table["v"] + one.v

    def g(x, first):
        try:
            return f(x, first), state["v"]
        finally:
            state.clear()

    differential(g, [(torch.ones(2), k) for k in (0, 0, 1, 0, 1, 1)], state)


def test_gradients_of_two_names_for_one_tensor():
    """Dropping the gradient of one is dropping that of the other."""
    w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def f(x, a, b):
        a.grad = None
        was_none = b.grad is None
        (x * w + v).sum().backward()
        return was_none, a.grad.clone(), b.grad.clone()

    calls = [(torch.ones(2), *k) for k in ((w, v), (w, w), (v, w), (v, v), (w, v), (w, w))]
    found = []
    for run in (f, optimize()(f)):
        w.grad = v.grad = None
        found.append([plain(run(*args)) for args in calls])
    assert found[0] == found[1]


def test_arithmetic_of_numbers_that_raises_where_it_did_not():
    """What a replay computes beside its graph is within its guards."""
    import time

    def f(x, n, m):
        time.sleep(0)
        return n // m, n / m, x * n

    fast = optimize()(f)
    for n, m in ((4, 2), (5, 3), (6, 1), (2.0, 4.0), (1.5, 2.0)):
        assert plain(fast(torch.ones(2), n, m)) == plain(f(torch.ones(2), n, m))
    for n, m, error in ((4, 0, ZeroDivisionError), (1.0, 0.0, ZeroDivisionError)):
        with pytest.raises(error):
            fast(torch.ones(2), n, m)
    with pytest.raises(OverflowError):
        fast(torch.ones(2), 1 << 2000, 3)


def test_a_getter_that_writes_is_asked_as_often():
    """A `__getattribute__` that sets something is not interpreted, once a graph is there."""

    class Counted:
        n = 0

        def __getattribute__(self, name):
            Counted.n += 1
            return super().__getattribute__(name)

    counted = Counted()
    counted.scale = 2.0
    fast = optimize()(lambda x: x * counted.scale)
    fast(torch.ones(2))
    for _ in range(3):
        before = Counted.n
        assert torch.equal(fast(torch.ones(2)), torch.full((2,), 2.0))
        assert Counted.n == before + 1
