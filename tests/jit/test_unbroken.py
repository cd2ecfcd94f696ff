"""What breaks no graph any longer: as in eager code, while what is read changes between calls.

A scenario is given what makes a function optimized, and returns all that it saw.
"""

import collections
import contextlib
import functools
import itertools
import operator
import random
import sys
import time
import types
import warnings
from sys import gettrace

import numpy as np
import pytest
import torch

from monograph.jit import optimize
from tests.jit.running import plain, quiet

SCENARIOS = {}
X = torch.arange(6.0).reshape(2, 3) + 1


def scenario(function):
    """Enter a scenario."""
    SCENARIOS[function.__name__] = function
    return function


@scenario
def attributes_are_set_and_read_as_dicts(wrap):
    class Options:
        def __init__(self):
            self.gain, self.table = 2, {"a": 1}

    def f(x, o, name):
        before = sorted(vars(o))
        setattr(o, name, len(before))
        o.__dict__["last"] = name
        y = x * o.gain + len(o.last)
        if "extra" in o.__dict__:
            del o.extra
        o.table = {**o.table, name: o.gain}
        return y, before, sorted(o.__dict__.items(), key=str), vars(o)["table"]

    c, options = wrap(f), Options()
    seen = [c(X, options, name) for name in ("gain", "shift", "gain", "extra", "shift")]
    options.gain = 7.5
    seen += [c(X, options, "other"), c(X, options, "other")]
    del options.shift
    options.table["b"] = 3
    return [*seen, c(X, options, "other"), c(X, Options(), "gain"), dict(vars(options))]


@scenario
def namespaces_are_set(wrap):
    def f(x, space):
        known = list(vars(space))
        space.n = getattr(space, "n", 0) + 1
        space.x = x * space.n
        return space.x + len(known), list(space.__dict__)

    c, space = wrap(f), types.SimpleNamespace()
    seen = [c(X, space) for _ in range(3)]
    space.n = 10
    space.more = 1
    return [*seen, c(X, space), c(X, types.SimpleNamespace(n=1)), space.x]


@scenario
def items_that_are_made_when_missing(wrap):
    def f(x, groups, counts, key):
        groups[key].append(x.sum())
        counts[key] += len(groups[key])
        counts["all"] = counts["none"] + counts[key]
        missing = counts["gone"], "gone" in counts
        return x * counts[key], missing, list(counts.items()), len(groups)

    c = wrap(f)
    groups, counts = collections.defaultdict(list), collections.Counter("abca")
    seen = [c(X, groups, counts, key) for key in ("a", "b", "a", "z", "z")]
    groups["z"].append(1)
    counts["none"] = 5
    del counts["a"]
    seen.append(c(X, groups, counts, "a"))
    groups.default_factory = None
    seen.append(c(X, groups, counts, "a"))
    with pytest.raises(KeyError):
        c(X, groups, counts, "new")
    groups.default_factory = lambda: collections.deque([0])
    seen += [c(X, groups, counts, "y"), c(X, groups, counts, "w")]
    return seen, dict(groups), counts, type(groups["y"]).__name__


@scenario
def containers_with_defaults_are_returned(wrap):
    def f(x, words):
        found = collections.defaultdict(dict, {"a": {}})
        for i, word in enumerate(words):
            found[word[0]][word] = x * i
        nested = collections.defaultdict(functools.partial(int, 3))
        nested["k"] += 2
        return found, found.default_factory.__name__, dict(nested)

    c = wrap(f)
    made = [c(X, words) for words in (["ab", "ba"], ["ab", "ba"], ["b"], ["b"])]
    made[0][0]["new"]["x"] = 1
    return made


@scenario
def cached_properties(wrap):
    class Scaled:
        gain = 2

        def __get__(self, owner, kind=None):
            return self if owner is None else owner.base * self.gain

    class Net:
        scaled = Scaled()

        def __init__(self, base):
            self.base = base

        @functools.cached_property
        def table(self):
            return [self.base] * 2

    def f(x, net):
        return x * sum(net.table) + net.scaled, sorted(vars(net))

    c, net = wrap(f), Net(2)
    seen = [c(X, net), c(X, net)]
    net.base = 3
    seen.append(c(X, net))
    Net.scaled.gain = 5
    seen.append(c(X, net))
    del net.table
    seen += [c(X, net), c(X, net), c(X, Net(4))]
    net.table = [1]
    return [*seen, c(X, net)]


@scenario
def iterators_of_itertools(wrap):
    def f(x, items, at):
        pairs = [a * b for a, b in itertools.pairwise(items)]
        groups = {k: len(list(g)) for k, g in itertools.groupby(items, key=lambda n: n % 2)}
        longest = max(itertools.islice(items, 3), key=lambda n: -n)
        rows = sorted(itertools.product("ab", items), key=operator.itemgetter(at, 0))
        for i, row in zip(itertools.count(), itertools.chain(x, x * 2)):
            x = x + row * i
        return x * longest, pairs, groups, rows, operator.itemgetter(0)(x.unbind(0))

    c = wrap(f)
    return [c(X, items, at) for items, at in (([1, 3, 2], 1), ([1, 3, 2], 1), ([4, 1], 0))]


# --- numbers that depend on data ------------------------------------------------------------------


@scenario
def numbers_are_computed_with(wrap):
    def f(x, k):
        n, total = int(x.sum()), x.mean().item()
        m = -n // 3 + round(total, 1) * k - abs(n) % 7
        y = x * n + total - m / (1 + abs(total))
        y += n
        print("n", n, "total", total)
        return y, n, (m, total), type(n).__name__, type(total).__name__

    c = wrap(f)
    calls = [(X, 2), (-X, 2), (X.long(), 2), (X * 0, 2.5), (X[:1], 3), (X.double(), 2)]
    seen = []
    for x, k in calls:
        try:
            seen.append(c(x, k))
        except RuntimeError as error:
            seen.append(str(error))
    return seen


@scenario
def numbers_go_anywhere(wrap):  # noqa: C901 - one way per use
    class Box:
        last = None

    kept, box, table = [], Box(), {}

    def rows(x, n):
        for i in range(2):
            yield x * (n + i)

    def scaled(x, by=1, *, add=0):
        return x * by + add

    def f(x, how):
        n = x.argmax().item()
        if how == "shape":
            y = torch.zeros(n, 2)
            return y, y.shape[0] + 1, y.sum().item()
        if how == "slice":
            return x[:n], x[:n].sum(), x.flatten()[n]
        if how == "list":
            kept.append(n)
            return [n, n + 1], {"n": n}, {n}, f"{n:03d}", str(n)
        if how == "attribute":
            box.last, table[n] = n, n * 2
            return x * box.last, table
        if how == "closure":
            g = lambda y: y * n
            return g(x), [y + n for y in (x, x + 1)], list(rows(x, n))
        if how == "call":
            return scaled(x, n, add=n), scaled(x, by=n), max(n, 2), n > 2, n == 3 or None
        if how == "truth":
            return (x if n else -x), bool(n), not n, n is None
        return [*range(n)], n.bit_length(), divmod(n, 2), n**2, isinstance(n, int)

    c, seen = wrap(f), []
    for how in ("shape", "slice", "list", "attribute", "closure", "call", "truth", "rest"):
        for at in (3, 3, 1, 5):
            seen.append(c(torch.eye(6)[at], how))
    return seen, kept, box.last, table


@scenario
def numbers_and_writes(wrap):
    def f(x, w, n):
        w.add_(1)
        k = w.sum().item()
        w.mul_(k)
        try:
            y = x / k + 1 / (k - n)
        except ZeroDivisionError:
            return "zero", k
        w.sub_(int(k))
        return y, k

    c, w = wrap(f), torch.zeros(2)
    seen = [c(X, w, n) for n in (1, 2, 14, 14)]
    w.zero_()
    seen.append(c(X, w, 2))
    w.fill_(float("nan"))
    for _ in range(2):
        try:
            seen.append(c(X, w, 2))
        except ValueError as error:
            seen.append(str(error))
    return seen, w


@scenario
def counts_of_what_is_chosen(wrap):
    def f(x, least):
        rows = x[x > least]
        n, (m, d) = rows.shape[0], torch.nonzero(x > least).shape
        rest = rows[1:]
        return rows.mean() * n, m + 1, d, x.sum() / rows.size(0), rest.dim(), rest.size()

    c = wrap(f)
    return [c(x, least) for x in (X, X[0], X * 2) for least in (1, 3, 3)]


@scenario
def random_numbers_of_python(wrap):
    def f(x, how):
        n = random.randint(1, 9)
        y = x * n + random.random() * torch.rand(2, 1)
        if how == "raise":
            y = y @ x
        if how == "choice":
            y = y * random.choice([1, 2, 3]) + random.choice([x, -x])
        gain = random.uniform(0, n) + float(np.random.rand()) + np.random.normal(0, 1)
        y = y * (gain if random.random() < 0.5 else 2)
        return y, n, np.random.randint(3), torch.rand(())

    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)
    c, seen = wrap(f), []
    for how in ("", "", "choice", "raise", "choice", "", "raise", "choice", ""):
        try:
            seen.append(c(X, how))
        except RuntimeError as error:
            seen.append(str(error))
        seen.append((random.random(), np.random.rand(), torch.rand(())))
        if len(seen) == 8:
            random.seed(5)
    return seen


@scenario
def replaced_generators(wrap):
    def f(x):
        return x * random.random()

    random.seed(3)
    c, before = wrap(f), random.random
    seen = [c(X), c(X)]
    try:
        random.random = random.Random(7).random
        seen += [c(X), c(X)]
        random.random = lambda: 2
        seen += [c(X)]
    finally:
        random.random = before
    return [*seen, c(X)]


# --- NumPy, autocast, gradients -------------------------------------------------------------------


@scenario
def arrays_of_numpy(wrap):
    table = np.linspace(0, 1, 3, dtype=np.float32)

    def f(x, a, how):
        b = (x.detach() * 2).numpy()
        mean = b.mean(axis=0)
        y = x * torch.from_numpy(np.cumsum(b, axis=0)) + torch.as_tensor(table)
        table[0] += 1
        b[0] = -1
        a *= 2
        scale = np.sqrt(x.shape[1]) + np.float32(a.sum())
        chosen = a[a > 2]
        last = float(mean.max()) * int(np.argmax(-mean)) + len(mean.shape)
        if how:
            y = y + how(a)
        found = np.unique(np.round(b)), np.concatenate([a, a.T.copy().ravel()])
        return y / scale, b, a.dtype.name, chosen, found, last, x, b.T, a.shape, mean > 1

    c = wrap(f)
    arrays = [np.ones(3), np.ones(3), np.arange(3.0), np.arange(3), np.ones(3, np.float32)]
    hows = [None, None, np.sum, None, np.median]
    seen = []
    for a, how in zip(arrays, hows, strict=True):
        try:
            seen.append(c(X.clone(), a, how))
        except (TypeError, ValueError) as error:
            seen.append(type(error).__name__)
        seen.append(a)
    with pytest.raises(RuntimeError):
        c(torch.ones(2, 3), torch.ones(2, requires_grad=True), None)
    locked = np.ones(3)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        c(X.clone(), locked, None)
    return seen, c(torch.ones(4, 3), arrays[0], None), table, locked


@scenario
def replaced_functions_of_numpy(wrap):
    def f(x):
        return np.mean(x.numpy()), np.sqrt(x.shape[0]), np.random.rand() * x.sum()

    c, seen, kept = wrap(f), [], (np.mean, np.sqrt, np.random.rand)
    np.random.seed(1)
    try:
        seen += [c(X), c(X)]
        np.mean = np.median
        seen.append(c(X * X))
        np.sqrt, np.random.rand = np.exp, np.random.randn
        seen += [c(X), c(X)]
    finally:
        np.mean, np.sqrt, np.random.rand = kept
    return [*seen, c(X)]


@scenario
def arrays_and_python(wrap):
    def f(x, how):
        a = x.numpy()
        if how == "branch":
            return x * 2 if (a > 3).any() else -x, bool(a.all()), a.max() > 2 or None
        if how == "iterate":
            return [row.sum() for row in a], list(a[0]), [*a], len(a), a.shape[0], sum(a)
        if how == "show":
            print(a, a.dtype, f"{a.sum():.2f}")
            return {"a": a, "n": a.size}, (a, a), a.tolist()
        if how == "lists":
            rows = [a, a + 1]
            return np.stack(rows), np.array([1, 2]), rows, np.array(rows).sum().item(), abs(a)
        kept = np.zeros(3)
        kept[1:] = a[0, :2]
        kept += np.where(kept > 1, kept, 0)
        kept[a[0] > 2] = 9
        del a
        return kept, kept.any(), np.random.rand(), np.float64(3) * x, isinstance(kept, np.ndarray)

    c, seen = wrap(f), []
    np.random.seed(0)
    for how in ("branch", "iterate", "show", "lists", "rest"):
        seen += [c(x, how) for x in (X, X * 0, X, X + 0.5)]
    return seen


@scenario
def autocast_is_entered(wrap):  # noqa: C901 - one way per case
    torch.manual_seed(0)
    line = torch.nn.Linear(3, 3)
    outer = torch.autocast("cpu")

    def f(x, how, dtype):
        y = x
        try:
            with torch.autocast("cpu", dtype):
                y = line(x)
                if how == "break":
                    print(y.dtype, list({y.shape[0], 7, id(f) * 0}))
                if how == "nested":
                    with torch.autocast(device_type="cpu", enabled=False):
                        y = line(y.float()) + x
                    y = line(y)
                if how == "raise":
                    raise KeyError(how)
                if how == "wrong":
                    y = y @ torch.ones(7, 7, dtype=y.dtype)
                if how == "return":
                    return y, torch.is_autocast_enabled("cpu")
                if how == "outer":
                    with outer:
                        y = line(y)
        except KeyError:
            y = y * 3
        return y.dtype, line(x), y, torch.is_autocast_enabled("cpu")

    c, seen = wrap(f), []
    for how in ("", "break", "nested", "raise", "return", "wrong", "outer"):
        for dtype in (torch.bfloat16, torch.bfloat16, None, torch.float16):
            for is_on in (False, True):
                with torch.autocast("cpu", enabled=is_on):
                    try:
                        seen.append(c(X, how, dtype))
                    except RuntimeError as error:
                        seen.append(type(error))
                    seen.append(torch.is_autocast_cache_enabled())
                seen.append((torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")))
    torch.set_autocast_dtype("cpu", torch.float16)
    seen += [c(X, "", None), c(X, "break", None)]
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    return seen


@scenario
def gradients_are_computed(wrap):
    w, told = torch.ones(3, requires_grad=True), []

    def f(x, again):
        loss = ((x * w).sum() - 1).square()
        (g,) = torch.autograd.grad(loss, w, create_graph=again)
        h = torch.autograd.grad(g.sum(), [w])[0] if again else g
        with torch.no_grad():
            w.sub_(g, alpha=1e-4)
        return loss, g, h * 2, w.grad

    c = wrap(f)
    seen = [c(X, again) for again in (False, False, True, True)]
    w.register_hook(lambda g: told.append(float(g.detach().sum())))
    seen += [c(X, False), c(X[:1], True)]
    w.requires_grad_(False)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            c(X, False)
    return seen, told, w


# --- what lives across a graph break --------------------------------------------------------------


@scenario
def generators_across_breaks(wrap):
    told = []

    @contextlib.contextmanager
    def scope(name, gain):
        told.append(f"+{name}")
        try:
            yield gain * 2
            told.append("done")
        except KeyError:
            told.append("caught")
        finally:
            told.append(f"-{name}{gain}")

    def rows(x, n):
        kept = [x]
        for i in range(n):
            kept.append(kept[-1] + i)
            yield kept[-1], len(kept)

    def f(x, n, how):
        with contextlib.ExitStack() as stack:
            gains = [stack.enter_context(scope(name, n)) for name in "ab"]
            stack.callback(told.append, n)
            found, more = rows(x, n), (y * 2 for y in x)
            first = next(found)
            n = gettrace() or n
            if how == "raise":
                raise KeyError(n)
            if how == "early":
                return x * sum(gains), list(found)
            x = x + next(more)
        rest = [a * b for a, b in found]
        return first, rest, list(more), x, found.gi_frame, sys.exc_info()[0]

    c, seen = wrap(f), []
    for how in ("", "", "early", "raise", "", "early", "raise"):
        seen += [c(X, n, how) for n in (2, 2, 3)]
        try:
            raise ValueError(how)
        except ValueError:
            seen.append(c(X, 2, how))
    return seen, told


@scenario
def generators_that_are_dropped(wrap):
    told = []

    def rows(x):
        try:
            for row in x:
                gettrace()
                yield row * 2
        finally:
            told.append("closed")

    def f(x, most):
        total = 0
        for i, row in enumerate(rows(x)):
            if i == most:
                break
            total = total + row
        told.append("left")
        return total

    c = wrap(f)
    return [c(X, most) for most in (1, 1, 5, 1, 5)], told


@scenario
def filters_of_warnings(wrap):
    def f(x, how):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(how, UserWarning)
            warnings.filterwarnings("ignore", message="quiet")
            y = x * 2
            warnings.warn(f"careful {x.shape[0]}", stacklevel=1)
            warnings.warn("quiet", stacklevel=1)
        return y, [(str(each.message), each.category.__name__) for each in caught]

    c, seen = wrap(f), []
    for how in ("always", "always", "ignore", "error", "always", "error"):
        try:
            seen.append(c(X, how))
        except UserWarning as error:
            seen.append(str(error))
    before = len(warnings.filters)
    return [*seen, c(X[:1], "always"), len(warnings.filters) - before]


@scenario
def iterators_of_lists_that_grew_before_a_break(wrap):
    def f(x, n, items):
        rows = []
        for i in range(n):
            rows.append(i)
            sys.intern("a")
        sys.intern("b")
        for i in range(n):
            rows.append(n + i)
        out = []
        for row in rows:
            out.append(x + row)
            if row == 1:
                sys.intern("c")
        for item in items:
            if len(items) < 5:
                items.append(item)
            if item == 2:
                sys.intern("d")
        return out, items

    c = wrap(f)
    return [c(X, n, [1, 2]) for n in (2, 2, 3, 2, 3)]


@scenario
def identities_of_tensors(wrap):
    def f(x, y):
        z = x * 2
        same = id(x) == id(y), id(z) == id(x), id([z][0]) == id(z), id(z) != id([z][0])
        return z, same, {id(x): 1}.get(id(y)), type(id(z))

    c, other = wrap(f), X + 1
    return [c(*args) for args in ((X, X), (X, X), (X, other), (other, other), (X, other))]


def test_clocks_run_within_a_graph():
    """In their order with the operators; what they say is not compiled in."""
    optimizer = optimize()

    @optimizer
    def f(x):
        began = time.perf_counter()
        y = (x @ x.T).sum()
        return y, time.perf_counter() - began

    spent = {f(torch.ones(300, 300))[1] for _ in range(4)}
    assert len(spent) == 4
    assert min(spent) > 0
    assert len(optimizer.entries) == 1


@pytest.mark.parametrize("name", SCENARIOS)
def test_as_in_eager_code(name):
    """What the scenario sees is what it sees without us."""
    expected = plain(SCENARIOS[name](lambda each: each))
    found = plain(quiet(SCENARIOS[name], optimize()))
    assert str(found) == str(expected)
