"""`yield from`: delegation of values, exceptions and results."""

import types

from tests.python.registry import program


@program
def result_of_delegation():
    """The value of `yield from` is what the inner generator returns."""

    def inner():
        x = yield 1
        return ("inner", x)

    def outer():
        result = yield from inner()
        yield result
        return result

    it = outer()
    seen = [next(it), it.send("sent")]
    try:
        next(it)
    except StopIteration as stop:
        return seen, stop.value


@program
def delegation_to_iterables():
    """Any iterable may be delegated to; its result is None."""

    def outer():
        a = yield from [1, 2]
        b = yield from "xy"
        c = yield from range(2)
        d = yield from {}
        yield a, b, c, d

    return list(outer())


@program
def delegation_to_not_iterable():
    """What is not iterable cannot be delegated to."""

    def outer():
        yield from 5

    try:
        next(outer())
    except TypeError as error:
        return str(error)


@program
def send_to_plain_iterator():
    """Sending to an iterator without `send` fails; None is `next`."""

    def outer():
        yield from [1, 2, 3]

    it = outer()
    seen = [next(it), it.send(None)]
    try:
        it.send("x")
    except AttributeError as error:
        return seen, type(error).__name__


@program
def throw_reaches_inner():
    """`throw` is handed to the inner generator."""
    log = []

    def inner():
        try:
            yield 1
        except ValueError as error:
            log.append(("inner", error.args))
            yield 2
        return "done"

    def outer():
        log.append((yield from inner()))
        yield 3

    it = outer()
    return [next(it), it.throw(ValueError("v")), next(it)], log


@program
def throw_uncaught_by_inner():
    """What the inner generator does not catch, the outer may."""

    def inner():
        yield 1

    def outer():
        try:
            yield from inner()
        except KeyError as error:
            yield ("outer", error.args)

    it = outer()
    return next(it), it.throw(KeyError("k")), list(it)


@program
def throw_to_plain_iterator():
    """An iterator without `throw` lets the exception appear in the outer."""

    def outer():
        try:
            yield from iter([1, 2])
        except KeyError:
            yield "caught"

    it = outer()
    return next(it), it.throw(KeyError)


@program
def close_reaches_inner():
    """`close` closes from the inside out."""
    log = []

    def make(name, it):
        try:
            yield from it
        finally:
            log.append(name)

    it = make("outer", make("middle", make("inner", [1, 2])))
    next(it)
    it.close()
    return log


@program
def close_calls_close_of_iterator():
    """An iterator with its own `close` is asked."""
    log = []

    class It:
        def __iter__(self):
            return self

        def __next__(self):
            return 1

        def close(self):
            log.append("close")

    def outer():
        yield from It()

    it = outer()
    next(it)
    it.close()
    it = outer()
    next(it)
    try:
        it.throw(GeneratorExit)
    except GeneratorExit:
        log.append("exit")
    return log


@program
def custom_send_and_throw():
    """An iterator with `send` and `throw` is driven by them."""
    log = []

    class It:
        def __iter__(self):
            return self

        def __next__(self):
            log.append("next")
            return 0

        def send(self, x):
            log.append(("send", x))
            return x

        def throw(self, *exc):
            log.append(("throw", isinstance(exc[0], ValueError) or exc[0] is ValueError))
            raise StopIteration("result")

    def outer():
        yield (yield from It())

    it = outer()
    return [next(it), it.send(5), it.send(None), it.throw(ValueError("v"))], log


@program
def stop_iteration_value_from_iterator():
    """The result is the value of whatever StopIteration ends the iterator."""

    class It:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 2:
                raise StopIteration("value", "ignored")
            return self.n

    def outer():
        result = yield from It()
        yield result

    return list(outer())


@program
def inner_raises():
    """An exception of the inner generator appears at `yield from`, with both lines."""

    def inner():
        yield 1
        raise ValueError("inner")

    def outer():
        yield 0
        yield from inner()

    for _ in outer():
        pass


@program
def deep_delegation():
    """A chain of a hundred generators."""

    def chain(n):
        if n == 0:
            x = yield "bottom"
            return x
        result = yield from chain(n - 1)
        return result + 1

    it = chain(100)
    next(it)
    try:
        it.send(0)
    except StopIteration as stop:
        return stop.value


@program
def delegation_to_running_generator():
    """Delegating to oneself is refused."""

    def g():
        try:
            yield from it
        except ValueError as error:
            yield str(error)

    it = g()
    return next(it)


@program
def delegation_to_finished():
    """A finished inner generator gives nothing and None."""

    def inner():
        yield 1
        return "first time only"

    def outer():
        it = inner()
        a = yield from it
        b = yield from it
        yield a, b

    return list(outer())


@program
def return_value_through_finally():
    """The result passes through `finally` of the inner generator."""
    log = []

    def inner():
        try:
            yield 1
            return "result"
        finally:
            log.append("finally")

    def outer():
        return (yield from inner())

    it = outer()
    next(it)
    try:
        next(it)
    except StopIteration as stop:
        return stop.value, log


@program
def iter_is_called_once():
    """`iter()` of the delegate is called once, when reached."""
    log = []

    class Seq:
        def __iter__(self):
            log.append("iter")
            return iter([1, 2])

    def outer():
        log.append("start")
        yield from Seq()

    it = outer()
    log.append("made")
    return list(it), log


@program
def shared_inner():
    """Two outer generators pull from one inner."""

    def inner():
        for i in range(5):
            yield i

    def outer(name, it):
        for x in it:
            yield name, x

    it = inner()

    def both():
        yield from outer("a", it)

    def alone():
        yield from it

    a, b = both(), alone()
    return next(a), next(b), next(a), list(b), list(a)


@program
def coroutine_decorator():
    """A generator marked by `types.coroutine` still iterates."""

    @types.coroutine
    def g():
        x = yield 1
        return x

    def outer():
        return (yield from g.__wrapped__()) if hasattr(g, "__wrapped__") else "plain"

    it = outer()
    try:
        next(it)
        it.send("v")
    except StopIteration as stop:
        return stop.value


@program
def generator_exit_ignored_by_inner():
    """An inner generator that yields on close makes the outer fail."""

    def inner():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    def outer():
        yield from inner()

    it = outer()
    next(it)
    try:
        it.close()
    except RuntimeError as error:
        return str(error)


@program
def try_around_each_delegation():
    """Handlers around several delegations in a loop."""

    def source(n):
        for i in range(n):
            if i == 2:
                raise ValueError(n)
            yield i

    def outer():
        for n in (1, 3, 2, 4):
            try:
                yield from source(n)
            except ValueError as error:
                yield error.args
            else:
                yield "ok"

    return list(outer())
