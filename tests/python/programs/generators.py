"""Generators: the protocol of send, throw and close, attributes, finalisation."""

import inspect
import types

from tests.python.registry import program


@program
def send_values():
    """`send` gives the value of the `yield` expression."""
    log = []

    def g():
        received = yield 1
        log.append(received)
        received = yield (yield 2)
        log.append(received)
        return "end"

    it = g()
    log.append(next(it))
    log.append(it.send("a"))
    log.append(it.send("b"))
    try:
        it.send("c")
    except StopIteration as stop:
        log.append(stop.value)
    return log


@program
def send_to_unstarted():
    """A generator that has not started takes only None."""

    def g():
        yield 1

    it = g()
    try:
        it.send(5)
    except TypeError as error:
        return str(error), it.send(None)


@program
def exhausted():
    """A finished generator stays finished."""

    def g():
        yield 1
        return 2

    it = g()
    seen = [next(it)]
    for _ in range(3):
        try:
            next(it)
        except StopIteration as stop:
            seen.append(stop.value)
    return seen, list(it), next(it, "default")


@program
def throw_caught():
    """`throw` raises at the `yield`, where it can be caught."""

    def g():
        while True:
            try:
                x = yield "waiting"
                print("got", x)
            except ValueError as error:
                print("caught", error.args)
                yield "handled"

    it = g()
    next(it)
    seen = [
        it.throw(ValueError("v")),
        it.send("x"),
        it.throw(ValueError),
        it.throw(ValueError("again")),
    ]
    return seen


@program
def throw_uncaught():
    """`throw` of what nobody catches ends the generator."""

    def g():
        try:
            yield 1
        finally:
            print("finally")

    it = g()
    next(it)
    try:
        it.throw(KeyError("k"))
    except KeyError as error:
        print(error.args)
    return list(it)


@program
def throw_before_start():
    """`throw` into a generator that has not started raises at its definition."""

    def g():
        print("never")
        yield 1

    it = g()
    try:
        it.throw(KeyError("early"))
    except KeyError as error:
        return error.args, list(it)


@program
def throw_raises_other():
    """A handler that raises another exception."""

    def g():
        try:
            yield 1
        except KeyError:
            raise ValueError("other")

    it = g()
    next(it)
    it.throw(KeyError("k"))


@program
def close_runs_finally():
    """`close` raises GeneratorExit at the `yield`."""
    log = []

    def g():
        try:
            yield 1
        except GeneratorExit:
            log.append("exit")
            raise
        finally:
            log.append("finally")

    it = g()
    next(it)
    log.append(it.close())
    log.append(it.close())
    fresh = g()
    fresh.close()
    return log, list(fresh)


@program
def close_ignored():
    """A generator that yields after GeneratorExit is refused."""

    def g():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    it = g()
    next(it)
    try:
        it.close()
    except RuntimeError as error:
        return str(error)


@program
def close_swallowed_by_return():
    """Returning on GeneratorExit is fine."""

    def g():
        try:
            yield 1
        except GeneratorExit:
            return 5

    it = g()
    next(it)
    it.close()
    return list(it)


@program
def stop_iteration_becomes_runtime_error():
    """StopIteration inside of a generator becomes RuntimeError with a cause."""

    def g():
        yield 1
        next(iter(()))
        yield 2

    it = g()
    next(it)
    try:
        next(it)
    except RuntimeError as error:
        return str(error), type(error.__cause__).__name__, error.__suppress_context__


@program
def generator_already_executing():
    """A generator cannot be entered twice."""

    def g():
        try:
            next(it)
        except ValueError as error:
            yield str(error)

    it = g()
    return next(it)


@program
def attributes():
    """`gi_running`, `gi_frame`, `gi_code`, `gi_yieldfrom`, names."""

    def g():
        states.append((it.gi_running, it.gi_frame is not None))
        yield 1
        yield from inner

    inner = iter([5])
    states = []
    it = g()
    states.append(
        (it.gi_running, it.gi_yieldfrom, it.__name__, it.__qualname__, it.gi_code is g.__code__)
    )
    next(it)
    states.append((it.gi_running, it.gi_yieldfrom))
    next(it)
    states.append(it.gi_yieldfrom is inner)
    list(it)
    states.append((it.gi_running, it.gi_frame, it.gi_yieldfrom))
    return states


@program
def generator_state():
    """`inspect` sees the four states."""
    states = []

    def g():
        states.append(inspect.getgeneratorstate(it))
        yield

    it = g()
    states.append(inspect.getgeneratorstate(it))
    next(it)
    states.append(inspect.getgeneratorstate(it))
    it.close()
    states.append(inspect.getgeneratorstate(it))
    return states


@program
def type_of_generator():
    """A generator is a generator to everyone who asks."""

    def g():
        yield

    it = g()
    return (
        isinstance(it, types.GeneratorType),
        inspect.isgenerator(it),
        inspect.isgeneratorfunction(g),
        iter(it) is it,
        hasattr(it, "send"),
        type(it).__name__,
    )


@program
def lazy():
    """Nothing of the body runs before the first `next`; arguments are bound at the call."""
    log = []

    def g(x, y=2):
        log.append(("start", x, y))
        yield x

    it = g(1)
    log.append("made")
    try:
        g()
    except TypeError:
        log.append("arguments")
    next(it)
    return log


@program
def many_consumers():
    """C and Python consumers drive generators."""

    def g(n):
        for i in range(n):
            yield i * i

    a, *b = g(4)
    return (
        list(g(3)),
        tuple(g(3)),
        set(g(3)),
        sum(g(4)),
        max(g(4)),
        dict(zip(g(3), g(3))),
        "".join(str(x) for x in g(3)),
        [*g(2), *g(3)],
        sorted(g(3), reverse=True),
        a,
        b,
        3 in g(3),
        4 in g(3),
        any(g(1)),
        all(g(3)),
        bytes(g(4)),
        list(zip(g(2), g(9))),
        list(enumerate(g(2), 5)),
        list(map(lambda x, y: x + y, g(3), g(2))),
        list(filter(None, g(3))),
    )


@program
def partially_consumed():
    """A generator remembers where it stopped between consumers."""

    def g():
        for i in range(10):
            yield i

    it = g()
    a, b = next(it), next(it)
    for x in it:
        if x == 4:
            break
    return a, b, x, list(zip(it, range(2))), list(it)


@program
def local_state_is_kept():
    """Locals, loops, handlers and stack survive a suspension."""

    def g(data):
        total = 0
        for i, x in enumerate(data):
            try:
                total += (yield (i, total)) or x
            except KeyError as error:
                total -= error.args[0]
                yield "threw"

    it = g([10, 20, 30, 40])
    return [next(it), it.send(5), it.throw(KeyError(100)), next(it), it.send(7), next(it, None)]


@program
def yield_inside_expressions():
    """Half-built expressions wait on the stack."""

    def g():
        x = [1, (yield "a"), 3, *(yield "b")]
        y = {"k": (yield "c"), (yield "d"): 4}
        z = f"{(yield 'e')}-{(yield 'f'):>4}"
        w = max((yield "g"), (yield "h"), key=(yield "i"))
        yield x, y, z, w

    it = g()
    sent = [None, 2, (4, 5), 6, 7, "e", "f", 3, -9, abs]
    return [it.send(x) for x in sent]


@program
def generator_return_value():
    """The value of `return` is the value of StopIteration, also a tuple or an exception."""

    def g(value):
        return value
        yield

    seen = []
    for value in (None, 1, (1, 2), ValueError("v"), StopIteration(3)):
        try:
            next(g(value))
        except StopIteration as stop:
            seen.append((stop.args, stop.value is value))
    return seen


@program
def recursive_generator():
    """A generator that loops over itself."""

    def walk(tree):
        if isinstance(tree, list):
            for one in tree:
                for leaf in walk(one):
                    yield leaf
        else:
            yield tree

    return list(walk([1, [2, [3, [4]], 5], [], [[6]]]))


@program
def permutations():
    """Backtracking with generators."""

    def permute(items):
        if not items:
            yield ()
        for i, x in enumerate(items):
            for rest in permute(items[:i] + items[i + 1 :]):
                yield (x, *rest)

    return list(permute("abc"))


@program
def pipeline():
    """Generators over generators, pulled one value at a time."""
    log = []

    def source():
        for i in range(4):
            log.append(f"make {i}")
            yield i

    def double(it):
        for x in it:
            log.append(f"double {x}")
            yield x * 2

    for x in double(y for y in source() if y % 2):
        log.append(x)
    return log


@program
def method_and_class_body_generators():
    """Generator methods, and `__iter__` as a generator."""

    class Tree:
        def __init__(self, value, *children):
            self.value, self.children = value, children

        def __iter__(self):
            yield self.value
            for child in self.children:
                yield from child

        def depth_first(self, depth=0):
            yield depth, self.value
            for child in self.children:
                yield from child.depth_first(depth + 1)

    tree = Tree(1, Tree(2, Tree(3)), Tree(4))
    return list(tree), list(tree.depth_first()), 3 in tree


@program
def deleted_generator_is_closed():
    """A generator that is dropped runs its `finally` (CPython counts references)."""
    log = []

    def g():
        try:
            yield 1
        finally:
            log.append("finally")

    it = g()
    next(it)
    log.append("before")
    del it
    log.append("after")
    return log


@program
def break_drops_generator():
    """A generator only the loop holds is closed when the loop is left."""
    log = []

    def g():
        try:
            for i in range(5):
                yield i
        finally:
            log.append("closed")

    for x in g():
        if x == 2:
            break
    log.append("after")
    return log


@program
def exception_in_generator_traceback():
    """Lines of the generator and of its consumer."""

    def g():
        yield 1
        raise KeyError("in g")

    for _ in g():
        pass


@program
def generator_with_context_of_consumer():
    """An exception raised inside of a generator has the consumer's as context."""

    def g():
        yield 1
        raise ValueError("g")

    it = g()
    next(it)
    try:
        raise KeyError("consumer")
    except KeyError:
        next(it)


@program
def generator_in_handler_keeps_own_exception():
    """A generator suspended in its handler keeps its own exception for a bare raise."""

    def g():
        try:
            raise KeyError("own")
        except KeyError:
            yield 1
            raise

    it = g()
    next(it)
    try:
        raise ValueError("outer")
    except ValueError:
        try:
            next(it)
        except KeyError as error:
            return error.args, type(error.__context__).__name__


@program
def generator_expression_scope():
    """The variable of a generator expression is its own."""
    x = "kept"
    it = (x for x in range(3))
    return list(it), x, (it.__name__, it.__qualname__)


@program
def throw_with_traceback_and_class():
    """`throw` with a class makes an instance; something else is refused."""

    def g():
        while True:
            try:
                yield
            except Exception as error:
                print(type(error).__name__, error.args)

    it = g()
    next(it)
    it.throw(ValueError)
    it.throw(ValueError("v"))
    try:
        it.throw(5)
    except TypeError as error:
        return str(error)


@program
def two_interleaved():
    """Two generators of one function are independent."""

    def g(name):
        n = 0
        while True:
            n += 1
            step = yield f"{name}{n}"
            n += step or 0

    a, b = g("a"), g("b")
    return [next(a), next(b), a.send(5), b.send(50), next(a), next(b)]


@program
def generator_with_star_args():
    """Generators with every kind of parameter and a closure."""
    base = 100

    def g(a, *rest, k=1, **kw):
        yield a + base
        yield from rest
        yield k
        yield sorted(kw)

    return list(g(1, 2, 3, k=4, z=5))


@program
def coroutine_style_average():
    """A consumer that yields the running mean."""

    def mean():
        total, count = 0.0, 0
        value = None
        while True:
            x = yield value
            if x is None:
                return total, count
            total, count = total + x, count + 1
            value = total / count

    it = mean()
    next(it)
    seen = [it.send(x) for x in (10, 20, 60)]
    try:
        it.send(None)
    except StopIteration as stop:
        return seen, stop.value


@program
def fibonacci_prime_sieve():
    """A tower of nested generators."""

    def integers(n):
        while True:
            yield n
            n += 1

    def sieve(it):
        prime = next(it)
        yield prime
        yield from sieve(x for x in it if x % prime)

    primes = sieve(integers(2))
    return [next(primes) for _ in range(12)]
