"""What libraries do around models breaks no graph, and is guarded: it changes between the calls.

A scenario is given what makes a function optimized, and returns all that it saw.
"""

import collections
import contextvars
import dataclasses
import functools
import inspect
import os
import threading
import weakref

import pytest
import torch
from torch import nn

from monograph.jit import optimize
from tests.jit.running import plain, quiet

SCENARIOS = {}
BREAKING = set()
X = torch.arange(6.0).reshape(2, 3) + 1


def scenario(function):
    """Enter a scenario, in which nothing breaks a graph."""
    SCENARIOS[function.__name__] = function
    return function


def breaking(function):
    """Enter a scenario in which something else breaks graphs."""
    BREAKING.add(function.__name__)
    return scenario(function)


COLLECTED = contextvars.ContextVar("collected", default=None)
DEPTH = contextvars.ContextVar("depth")


def collecting(function):
    """Collect what a function makes, as a library does."""

    @functools.wraps(function)
    def wrapper(*args):
        token = COLLECTED.set({"made": []})
        try:
            result = function(*args)
            return result, len(COLLECTED.get()["made"])
        finally:
            COLLECTED.reset(token)

    return wrapper


@scenario
def context_variables_set_and_reset(wrap):
    @collecting
    def made(x):
        COLLECTED.get()["made"].append(x * 2)
        return COLLECTED.get()["made"][-1] + 1

    def f(x):
        before = COLLECTED.get()
        y, n = made(x)
        after = COLLECTED.get()
        return y * n, before, after is before, DEPTH.get(10)

    c = wrap(f)
    seen = [c(X), c(X), c(X[:1])]
    token = COLLECTED.set({"of": "others"})
    seen += [c(X), c(X)]
    COLLECTED.get()["of"] = "more"
    seen += [c(X), COLLECTED.get()]
    COLLECTED.reset(token)
    seen += [c(X), contextvars.copy_context().run(c, X)]
    token = DEPTH.set(3)
    seen += [c(X), c(X)]
    DEPTH.reset(token)
    return [*seen, c(X), COLLECTED.get()]


@scenario
def context_variables_left_set(wrap):
    def f(x, n):
        token = DEPTH.set(n)
        inner = DEPTH.set(n + 1)
        y = x * DEPTH.get()
        DEPTH.reset(inner)
        return y + DEPTH.get(), token is inner

    def run():
        c = wrap(f)
        return [(*c(X, n), DEPTH.get()) for n in (1, 1, 2, 2, 1)]

    seen, others = contextvars.copy_context().run(run), []
    thread = threading.Thread(target=lambda: others.extend(run()))
    thread.start()
    thread.join()
    return seen, others, DEPTH.get(None)


@breaking
def context_variables_across_breaks(wrap):
    @collecting
    def made(x):
        COLLECTED.get()["made"].append(x * 2)
        os.getpid()
        return x + len(COLLECTED.get()["made"])

    def f(x, fails):
        y, n = made(x)
        token = DEPTH.set(n)
        try:
            os.getpid()
            if fails:
                raise ValueError(DEPTH.get())
            y = y * DEPTH.get()
        except ValueError as error:
            y = y - error.args[0]
        finally:
            DEPTH.reset(token)
        return y, DEPTH.get(7)

    def leave(x, variable, token):
        y = x + 1
        try:
            variable.reset(token)
        except (ValueError, RuntimeError) as error:
            return y, type(error).__name__
        return y * 2, variable.get("nothing")

    c, g = wrap(f), wrap(leave)
    seen = [c(X, fails) for fails in (False, False, True, True, False)]
    for _ in range(3):
        token = DEPTH.set(1)
        seen += [g(X, COLLECTED, token), g(X, DEPTH, token), g(X, DEPTH, token)]
    elsewhere = contextvars.copy_context().run(DEPTH.set, 5)
    return [*seen, g(X, DEPTH, elsewhere), DEPTH.get("nothing")]


class Registry(dict):
    """What a library knows of classes, by their names."""

    def get(self, owner):
        return super().get(str(owner.__class__)) or {}


@scenario
def registries_by_class(wrap):
    class Model(nn.Module):
        def forward(self, x):
            found = registry.get(self)
            return (x * 2 if "scale" not in found else x * found["scale"]), len(found)

    registry, model = Registry(), Model()
    c, name = wrap(model), str(Model)
    seen = [c(X), c(X)]
    registry[name] = {"scale": 3}
    seen += [c(X), c(X)]
    registry[name]["scale"] = 4
    registry["other"] = {"scale": 100}
    seen += [c(X), c(X)]
    registry[name] = None
    seen += [c(X)]
    Registry.get = lambda self, owner: {"scale": len(self)}
    try:
        seen += [c(X), c(X)]
    finally:
        Registry.get = _get
    Model.__qualname__ = "Another"
    return [*seen, c(X), c(X)]


_get = Registry.get


@scenario
def classes_behind_others(wrap):
    class A:
        def f(self, x):
            return x + 1

    class B(A):
        pass

    class C(B):
        def f(self, x):
            return super().f(x) * 2

    class D(B):
        def f(self, x):
            return x - 10

    def f(o, x):
        return o.f(x)

    c, o = wrap(f), C()
    seen = [c(o, X), c(o, X)]
    B.f = lambda self, x: x + 5
    seen += [c(o, X), c(o, X)]
    del B.f
    A.f = lambda self, x: x + 7
    seen += [c(o, X), c(o, X)]
    C.__bases__ = (D,)
    return [*seen, c(o, X), c(o, X)]


class Output(collections.OrderedDict):
    """What models of libraries return: a dict that is a dataclass."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in {field.name for field in dataclasses.fields(self)} and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Found(Output):
    """One of them."""

    first: torch.Tensor = None
    second: torch.Tensor = None
    rest: tuple = None


@scenario
def outputs_that_are_dicts(wrap):
    def inner(x, both):
        return Found(first=x * 2, second=x - 1 if both else None, rest=(x,))

    def f(x, both, name):
        out = inner(x, both)
        out.first = out.first + len(out)
        y = out[0] * out[name].sum() + len(out.to_tuple())
        return Found(y, rest=(out, [*out.keys()])), out.second is None, isinstance(out, dict)

    c = wrap(f)
    seen = []
    for args in ((X, True, "second"), (X, True, "first"), (X, False, "first"), (X, True, "second")):
        found, *rest = c(*args)
        inside = found.rest[0]
        seen += [type(found).__name__, *rest, found.first, found["rest"][1], vars(inside).keys()]
        seen += [next(iter(found.items())), inside.to_tuple(), inside.first is inside["first"]]
    Found.scale = 3
    try:
        Output.to_tuple = lambda self: ("another",) * 5
        seen += [c(X, True, "second")[1], c(X, True, "second")[0].first]
    except TypeError as error:
        seen.append(str(error))
    finally:
        Output.to_tuple = _to_tuple
        del Found.scale
    return [*seen, c(X, True, "second")[0].first]


_to_tuple = Output.to_tuple


class Options(collections.OrderedDict):
    """Options that are items."""


@scenario
def items_of_dicts_from_outside(wrap):
    class Row(list):
        scale = 2

    def f(x, options, row):
        y = x * options["gain"] + len(options) + sum([*row]) * row.scale
        return y, [*options.items()], "shift" in options, options.get("shift", 5), row[-1]

    c, options, row = wrap(f), Options(gain=2), Row([1, 2])
    seen = [c(X, options, row), c(X, options, row)]
    options["gain"] = 3
    seen += [c(X, options, row), c(X, options, row)]
    options["shift"] = 1
    options.move_to_end("gain")
    row.append(4)
    seen += [c(X, options, row), c(X, options, row)]
    options.move_to_end("shift")
    row.scale = 1
    return [*seen, c(X, options, row), c(X, options, Row([3])), c(X, Options(gain=1), Row([3]))]


@scenario
def signatures(wrap):
    def one(a):
        return a * 2

    def two(a, b=3, *, c: int = 4):
        return a * b + c

    class Model:
        def chunk(self, a, b=None):
            return a + 1

    def f(x, function):
        parameters = inspect.signature(function).parameters
        named = [name for name in ("b", "c") if name in parameters]
        return function(x) * len(parameters), named, sorted({*parameters.keys()})

    c, model = wrap(f), Model()
    seen = [c(X, each) for each in (one, two, model.chunk, one, two, model.chunk)]
    two.__kwdefaults__["c"] = 9
    two.__defaults__ = (5,)
    seen += [c(X, two), c(X, two)]
    one.__code__ = (lambda a, b=1: a * 3).__code__
    one.__defaults__ = (1,)
    seen += [c(X, one), c(X, one)]
    Model.chunk = lambda self, a: a - 1
    return [*seen, c(X, model.chunk), c(X, model.chunk)]


@breaking
def signatures_of_what_wraps(wrap):
    def one(a, b=1):
        return a * b

    def f(x, function):
        return function(x) * len(inspect.signature(function).parameters)

    c = wrap(f)
    seen = [c(X, one), c(X, one)]
    one.__signature__ = inspect.Signature()
    seen += [c(X, one), c(X, one)]
    del one.__signature__
    one.__wrapped__ = lambda a, b, c: None
    return [*seen, c(X, one), c(X, one)]


@scenario
def parts_of_lists_of_modules(wrap):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))
            self.body = nn.Sequential(*self.layers)
            self.n = 2

        def forward(self, x):
            for layer in self.layers[: self.n]:
                x = layer(x)
            return self.body[1:](x), len(self.layers[1:])

    model = Model()
    c = wrap(model)
    seen = [c(X), c(X)]
    model.n = 3
    seen += [c(X), c(X)]
    model.layers[0], model.body[3] = nn.Linear(3, 3), nn.Identity()
    seen += [c(X), c(X)]
    model.body[2].register_forward_hook(lambda module, args, result: result * 2)
    seen += [c(X), c(X)]
    nn.ModuleList.__len__, kept = (lambda self: 77), nn.ModuleList.__len__
    try:
        return [*seen, c(X)[1]]
    finally:
        nn.ModuleList.__len__ = kept


@functools.lru_cache(maxsize=2)
def recipe(text, n=1):
    """What a library works out of a text once."""
    RECIPES.append(text)
    return [each * n for each in text.split()]


RECIPES = []


@scenario
def caches_of_functions(wrap):
    def f(x, text):
        found = recipe(text, n=2)
        return x * len(found), found[0]

    c = wrap(f)
    recipe.cache_clear()
    RECIPES.clear()
    seen = [c(X, text) for text in ("a b", "a b", "c", "c", "a b")]
    recipe("a b", n=2).append("more")
    seen += [c(X, "a b"), c(X, "a b"), [*RECIPES]]
    for text in ("d", "e", "f"):
        recipe(text)
    seen += [c(X, "a b"), [*RECIPES]]
    recipe.cache_clear()
    return [*seen, c(X, "a b"), c(X, "c"), [*RECIPES], recipe.cache_info().currsize]


@breaking
def caches_that_raise_or_keep_nothing(wrap):
    @functools.lru_cache(maxsize=0)
    def count(n):
        RECIPES.append(n)
        return n

    @functools.lru_cache
    def positive(n):
        RECIPES.append(n)
        if n < 0:
            raise ValueError(n)
        return torch.full((3,), float(n))

    def f(x, n):
        try:
            return x * count(n) + positive(n)
        except ValueError as error:
            return x - error.args[0]

    RECIPES.clear()
    c = wrap(f)
    return [c(X, n) for n in (1, 1, 2, -1, -1, 1, 2)], RECIPES


@scenario
def tensors_in_caches(wrap):
    @functools.lru_cache
    def places(n):
        RECIPES.append(n)
        return torch.arange(n, dtype=torch.float32)

    def f(x):
        return x + places(x.shape[1]), places(x.shape[1])

    RECIPES.clear()
    c = wrap(f)
    seen = [c(X), c(X), c(X[:, :2]), c(X)]
    places(3).add_(5)
    seen += [c(X), c(X)[1] is places(3)]
    places.cache_clear()
    return seen, c(X), c(X)[1] is places(3), RECIPES


@scenario
def attributes_that_are_not_there(wrap):
    def f(x, kind):
        y = x * 2
        own = hasattr(x, "jax"), hasattr(y, "jax"), getattr(kind, "scale", 1)
        return y * own[2], own, hasattr(kind, "jax")

    class Kind:
        pass

    c, kind, x = wrap(f), Kind, X.clone()
    seen = [c(x, kind), c(x, kind)]
    Kind.scale = 3
    seen += [c(x, kind), c(x, kind)]
    torch.Tensor.jax = lambda self: 1
    try:
        seen += [c(x, kind), c(x, kind)]
    finally:
        del torch.Tensor.jax
    return [*seen, c(x, kind)]


@scenario
def sets_of_classes(wrap):
    known = {int}

    def f(x):
        return x * 2 if float in known else x - 1

    c = wrap(f)
    seen = [c(X), c(X)]
    known.add(float)
    seen += [c(X), c(X)]
    known.add(str)
    return [*seen, c(X), known.clear(), c(X)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_as_in_eager_code(name):
    """What the scenario sees is what it sees without us."""
    expected = plain(SCENARIOS[name](lambda each: each))
    optimizer = optimize()
    found = plain(quiet(SCENARIOS[name], optimizer))
    assert str(found) == str(expected)
    breaks = [each for table in optimizer.tables for each in table.breaks]
    assert bool(breaks) is (name in BREAKING), breaks


def test_operators_within_one_call_of_c():
    """The first of them ends the recording, and the mode that sees them stays until C returns."""

    def probs(x):
        return torch.distributions.Categorical(logits=x, validate_args=False).probs

    call = optimize()(probs)
    for _ in range(3):
        x = torch.randn(1, 3, requires_grad=True)
        torch.testing.assert_close(call(x), probs(x))


def test_a_weak_reference_to_a_module_is_no_module():
    """It says that it is of the module's class."""

    class Refers(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.other = weakref.proxy(self.linear)

        def forward(self, x):
            return nn.functional.linear(x, self.other.weight)

    module = Refers()
    call = optimize()(module)
    for _ in range(3):
        x = torch.randn(2, 3)
        torch.testing.assert_close(call(x), module(x))
