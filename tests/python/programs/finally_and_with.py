"""`finally` and `with`: what runs on every way out, and what it changes."""

import contextlib

from tests.python.registry import called_with, program


@called_with((0,), (1,), (2,))
def finally_on_every_way(n):
    """`finally` runs after return, exception and normal end."""
    log = []

    def f():
        try:
            if n == 0:
                return "returned"
            if n == 1:
                raise ValueError("raised")
        finally:
            log.append("finally")
        return "ended"

    try:
        return f(), log
    except ValueError as error:
        return error.args, log


@program
def finally_overrides_return():
    """A `return` in `finally` replaces the one on the way."""

    def f():
        try:
            return "try"
        finally:
            return "finally"

    return f()


@program
def finally_swallows_exception():
    """`return`, `break` and `continue` in `finally` drop the exception."""

    def f():
        try:
            raise ValueError
        finally:
            return "swallowed"

    seen = [f()]
    for i in range(3):
        try:
            seen.append(1 // (i - 1))
        finally:
            if i == 1:
                continue
            seen.append(i)
    while True:
        try:
            raise KeyError
        finally:
            break
    return seen


@program
def return_value_computed_before_finally():
    """The value of `return` is computed before `finally` changes its parts."""

    def f():
        x = 1
        box = [1]
        try:
            return x, box
        finally:
            x = 2
            box.append(2)

    return f()


@program
def nested_finally():
    """Inner `finally` runs before outer."""
    log = []

    def f():
        try:
            try:
                try:
                    return log.append("value") or "value"
                finally:
                    log.append(1)
            finally:
                log.append(2)
        finally:
            log.append(3)

    return f(), log


@program
def finally_in_loop_with_break():
    """`break` and `continue` run the `finally` they leave, once."""
    log = []
    for i in range(4):
        try:
            try:
                if i == 1:
                    continue
                if i == 3:
                    break
            finally:
                log.append(("inner", i))
            log.append(("after", i))
        finally:
            log.append(("outer", i))
    else:
        log.append("else")
    return log


@program
def exception_in_finally():
    """An exception of `finally` replaces the one on its way and keeps it as context."""

    def f():
        try:
            raise KeyError("first")
        finally:
            raise ValueError("second")

    f()


@program
def except_else_finally():
    """All four parts, for each way through."""

    def f(n):
        log = []
        try:
            try:
                log.append("try")
                if n == 1:
                    raise KeyError
                if n == 2:
                    raise ValueError
            except KeyError:
                log.append("except")
            else:
                log.append("else")
                if n == 3:
                    raise KeyError
            finally:
                log.append("finally")
            log.append("after")
        except Exception as error:
            log.append(type(error).__name__)
        return log

    return [f(n) for n in range(4)]


@program
def try_inside_finally():
    """A `try` inside of `finally` while an exception is on its way."""
    log = []

    def f():
        try:
            raise KeyError("outer")
        finally:
            try:
                raise ValueError("inner")
            except ValueError as error:
                log.append(type(error.__context__).__name__)
            log.append("done")

    try:
        f()
    except KeyError as error:
        return log, error.args, error.__context__


@program
def return_in_except_with_finally():
    """`return` from a handler runs `finally`, and unbinds the name."""

    def f():
        try:
            raise ValueError("v")
        except ValueError as error:
            return error.args
        finally:
            print("finally", "error" in locals())

    return f()


class Manager:
    """A context manager that says what happens to it."""

    def __init__(self, name, log, swallow=False, fail=None):
        self.name, self.log, self.swallow, self.fail = name, log, swallow, fail
        log.append(("make", name))

    def __enter__(self):
        self.log.append(("enter", self.name))
        if self.fail == "enter":
            raise RuntimeError(self.name)
        return self.name

    def __exit__(self, kind, value, trace):
        self.log.append(
            ("exit", self.name, kind and kind.__name__, value and value.args, trace is None)
        )
        if self.fail == "exit":
            raise RuntimeError(self.name)
        return self.swallow


@program
def with_normal():
    """Enter, body, exit; the value of `__enter__` is bound."""
    log = []
    with Manager("a", log) as a:
        log.append(a)
    with Manager("b", log):
        log.append("b body")
    return log


@program
def with_many():
    """Several managers are entered left to right and left right to left."""
    log = []
    with Manager("a", log) as a, Manager("b", log) as b, Manager("c", log):
        log.append((a, b))
    with (
        Manager("d", log) as d,
        Manager("e", log) as e,
    ):
        log.append((d, e))
    return log


@program
def with_exception():
    """`__exit__` sees the exception, which goes on."""
    log = []
    try:
        with Manager("a", log), Manager("b", log):
            raise ValueError("v")
    except ValueError as error:
        log.append(error.__context__)
    return log


@program
def with_swallow():
    """A true result of `__exit__` swallows; outer managers see nothing."""
    log = []
    with Manager("outer", log):
        with Manager("inner", log, swallow=True):
            raise ValueError("v")
        log.append("after")
    return log


@program
def with_swallow_truth():
    """The result of `__exit__` is tested for truth, by `__bool__` if need be."""
    log = []

    class Truth:
        def __init__(self, value):
            self.value = value

        def __bool__(self):
            log.append("bool")
            return self.value

    with Manager("a", log, swallow=Truth(True)):
        raise ValueError
    with Manager("b", log, swallow=Truth(False)):
        pass
    try:
        with Manager("c", log, swallow=[]):
            raise KeyError
    except KeyError:
        return [entry for entry in log if entry == "bool"]


@program
def with_enter_fails():
    """If `__enter__` fails there is no `__exit__` of it, but of those before."""
    log = []
    try:
        with Manager("a", log), Manager("b", log, fail="enter"), Manager("c", log):
            log.append("never")
    except RuntimeError as error:
        return log, error.args


@program
def with_exit_fails():
    """An exception of `__exit__` replaces the one of the body."""
    log = []
    with Manager("a", log):
        with Manager("b", log, fail="exit"):
            raise ValueError("body")


@program
def with_return_break_continue():
    """`return`, `break` and `continue` leave through `__exit__` without an exception."""
    log = []

    def f():
        for i in range(5):
            with Manager(i, log):
                if i == 0:
                    continue
                if i == 1:
                    break
        with Manager("r", log):
            return "value"

    return f(), log


@program
def with_return_and_swallow():
    """A manager that swallows in a function that then goes on."""
    log = []

    def f():
        with Manager("a", log, swallow=True):
            return 1 // 0
        return "went on"

    return f()


@program
def with_target_unpacks():
    """The target of `as` may be a pattern, an attribute, an item."""

    class Pair:
        def __enter__(self):
            return 1, [2, 3]

        def __exit__(self, *args):
            return None

    class Box:
        pass

    box, items = Box(), {}
    with Pair() as (a, [b, c]), Pair() as box.x, Pair() as items["k"]:
        pass
    return a, b, c, box.x, items


@program
def with_target_fails():
    """If storing the target fails, `__exit__` sees it."""
    log = []
    try:
        with Manager("ab", log) as (x, y, z):
            log.append("never")
    except ValueError:
        return log


@program
def with_not_a_manager():
    """An object without the two methods cannot be a manager."""

    class Half:
        def __enter__(self):
            return self

    seen = []
    for thing in (1, Half()):
        try:
            with thing:
                pass
        except (TypeError, AttributeError) as error:
            seen.append(type(error).__name__)
    return seen


@program
def with_methods_on_type():
    """`__enter__` and `__exit__` are looked up on the type."""
    log = []
    m = Manager("m", log)
    m.__enter__ = lambda: "instance"
    m.__exit__ = lambda *a: log.append("instance exit")
    with m as x:
        pass
    return x, log


@program
def contextmanager():
    """A generator as a context manager: value, normal end, exception, swallowing."""
    log = []

    @contextlib.contextmanager
    def manage(swallow):
        log.append("enter")
        try:
            yield "value"
        except ValueError as error:
            log.append(error.args)
            if not swallow:
                raise
        finally:
            log.append("finally")

    with manage(False) as value:
        log.append(value)
    with manage(True):
        raise ValueError("swallowed")
    try:
        with manage(False):
            raise ValueError("passed")
    except ValueError as error:
        log.append(error.__context__)
    return log


@program
def contextmanager_misused():
    """Generators that yield never or twice."""

    @contextlib.contextmanager
    def never():
        if False:
            yield

    @contextlib.contextmanager
    def twice():
        yield 1
        yield 2

    seen = []
    for make in (never, twice):
        try:
            with make():
                seen.append("body")
        except RuntimeError as error:
            seen.append(str(error))
    return seen


@program
def contextmanager_replaces_exception():
    """A generator that raises another exception."""

    @contextlib.contextmanager
    def translate():
        try:
            yield
        except KeyError as error:
            raise ValueError("translated") from error

    with translate():
        {}["k"]


@program
def contextmanager_stop_iteration():
    """StopIteration passes through a context manager."""

    @contextlib.contextmanager
    def plain():
        yield

    try:
        with plain():
            raise StopIteration("user's")
    except StopIteration as error:
        return error.args


@program
def contextmanager_as_decorator():
    """A context manager decorates; it is entered anew at each call."""
    log = []

    @contextlib.contextmanager
    def around(name):
        log.append(("in", name))
        yield
        log.append(("out", name))

    @around("f")
    def f(x):
        log.append(x)
        return x * 2

    return f(1), f(2), log


@program
def exit_stack():
    """`ExitStack` unwinds in reverse, with callbacks and swallowing."""
    log = []
    with contextlib.ExitStack() as stack:
        for i in range(3):
            stack.enter_context(Manager(i, log, swallow=i == 1))
        stack.callback(log.append, "callback")
        stack.push(lambda *exc: log.append(exc[0] and exc[0].__name__))
        raise ValueError("v")
    return log


@program
def exit_stack_context_chain():
    """Exceptions raised while unwinding have the right context."""
    with contextlib.ExitStack() as stack:

        def fail(name):
            raise RuntimeError(name)

        stack.callback(fail, "first")
        stack.callback(fail, "second")
        raise ValueError("body")


@program
def suppress_and_closing():
    """`suppress`, `closing`, `nullcontext`, `redirect_stdout`."""
    log = []

    class Thing:
        def close(self):
            log.append("closed")

    with contextlib.suppress(KeyError, ValueError):
        {}["k"]
    with contextlib.closing(Thing()) as thing:
        log.append(type(thing).__name__)
    with contextlib.nullcontext(5) as five:
        log.append(five)
    return log


@program
def with_in_generator_closed():
    """Closing a generator leaves its `with`."""
    log = []

    def g():
        with Manager("g", log):
            yield 1
            yield 2

    it = g()
    log.append(next(it))
    it.close()
    log.append("closed")
    return log


@program
def exit_called_with_traceback():
    """`__exit__` gets the traceback, whose line is the user's."""
    first = exit_called_with_traceback.__code__.co_firstlineno
    seen = []

    class M:
        def __enter__(self):
            return self

        def __exit__(self, kind, value, trace):
            seen.append((trace.tb_lineno - first, trace is value.__traceback__))
            return True

    with M():
        x = 1
        x / 0
    return seen


@program
def with_deleting_the_manager():
    """The name of the manager may be rebound in the body."""
    log = []
    m = Manager("m", log)
    with m:
        m = None
    return log


@program
def finally_with_yield():
    """`yield` inside of `finally` and `except`."""

    def g():
        try:
            yield 1
            raise KeyError("k")
        except KeyError:
            yield 2
        finally:
            yield 3
        yield 4

    return list(g())


@program
def return_through_three_kinds():
    """`return` through `with`, `for`, `try` at once."""
    log = []

    def f():
        with Manager("w", log):
            for i in range(3):
                try:
                    for j in range(3):
                        try:
                            if (i, j) == (1, 1):
                                return i, j
                        finally:
                            log.append((i, j))
                finally:
                    log.append(i)

    return f(), log
