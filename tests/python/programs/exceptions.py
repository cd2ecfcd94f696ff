"""Exceptions: what is caught, what hangs on them, which lines they name."""

import sys
import traceback

from tests.python.registry import called_with, program


@called_with((0,), ("x",), (None,), (2,), ([],))
def which_handler(x):
    """The first handler that matches wins; subclasses count."""
    try:
        return 10 // x, {}[x]
    except ZeroDivisionError:
        return "zero"
    except (TypeError, ValueError) as error:
        return type(error).__name__
    except LookupError as error:
        return "lookup", error.args


@program
def uncaught():
    """An uncaught exception leaves through every frame."""

    def f(n):
        if n == 0:
            raise ValueError("deep", 1)
        f(n - 1)

    f(3)


@program
def raise_class_and_instance():
    """`raise` takes a class or an instance."""
    seen = []
    for what in (ValueError, ValueError(), ValueError(1, 2), KeyError("k")):
        try:
            raise what
        except Exception as error:
            seen.append((type(error).__name__, error.args, error is what))
    return seen


@called_with((1,), ("text",), (None,), (int,), (object,))
def raise_not_exception(x):
    """Only exceptions can be raised."""
    raise x


@program
def raise_class_whose_constructor_fails():
    """The exception of the constructor replaces the one that was meant."""

    class E(Exception):
        def __init__(self, needed):
            pass

    class F(Exception):
        def __new__(cls):
            return 5

    seen = []
    for what in (E, F):
        try:
            raise what
        except TypeError as error:
            seen.append(type(error).__name__)
    return seen


@program
def bare_raise():
    """A bare `raise` raises what is being handled, also from a function called there."""

    def again():
        raise

    try:
        try:
            raise KeyError("first")
        except KeyError:
            again()
    except KeyError as error:
        return error.args


@program
def bare_raise_without_exception():
    """A bare `raise` with nothing to raise."""
    raise


@program
def bare_raise_after_nested_handler():
    """After an inner handler the outer exception is current again."""
    try:
        try:
            raise KeyError("outer")
        except KeyError:
            try:
                raise ValueError("inner")
            except ValueError:
                pass
            raise
    except KeyError as error:
        return error.args, error.__context__


@program
def implicit_context():
    """An exception raised in a handler remembers the one handled."""
    try:
        raise KeyError("a")
    except KeyError:
        raise ValueError("b")


@program
def context_chain_three():
    """Contexts form a chain."""
    try:
        try:
            raise KeyError("a")
        except KeyError:
            try:
                raise ValueError("b")
            except ValueError:
                {}[1]
    except KeyError as error:
        return error.__context__.__context__.args, error.__context__.args, error.args


@program
def context_across_calls():
    """The context comes from the caller's handler too."""

    def f():
        raise ValueError("in f")

    try:
        raise KeyError("k")
    except KeyError:
        f()


@program
def context_ends_with_handler():
    """After a handler there is no context."""
    try:
        raise KeyError("k")
    except KeyError:
        pass
    raise ValueError("v")


@program
def context_in_else_and_finally():
    """`else` has no context; `finally` on the way out has."""
    seen = []
    try:
        try:
            pass
        except KeyError:
            pass
        else:
            raise ValueError("else")
    except ValueError as error:
        seen.append(error.__context__)
    try:
        try:
            raise KeyError("body")
        finally:
            raise ValueError("finally")
    except ValueError as error:
        seen.append(error.__context__.args)
    return seen


@program
def context_of_same_exception():
    """Raising what is handled does not make it its own context."""
    error = KeyError("e")
    try:
        try:
            raise error
        except KeyError:
            raise error
    except KeyError as caught:
        return caught is error, caught.__context__


@program
def context_cycle_is_broken():
    """Raising an older exception inside of a newer one's handler cuts the cycle."""
    a, b = KeyError("a"), ValueError("b")
    try:
        try:
            raise a
        except KeyError:
            try:
                raise b
            except ValueError:
                raise a
    except KeyError as caught:
        return caught.__context__.args, caught.__context__.__context__


@program
def cause():
    """`raise ... from` sets the cause and hides the context."""
    try:
        {}["k"]
    except KeyError as error:
        raise ValueError("v") from error


@program
def cause_none():
    """`from None` hides the context, and keeps it."""
    try:
        {}["k"]
    except KeyError:
        raise ValueError("v") from None


@called_with((KeyError,), (1,), (KeyError("x"),))
def cause_of_any_kind(x):
    """A cause is an exception or a class of them."""
    raise ValueError("v") from x


@program
def cause_evaluated_order():
    """The exception is evaluated before its cause."""
    log = []

    def say(x):
        log.append(str(x))
        return x

    try:
        raise say(ValueError("a")) from say(KeyError("b"))
    except ValueError as error:
        return log, type(error.__cause__).__name__


@program
def name_is_deleted():
    """The handler's name is unbound after the handler."""
    error = "before"
    try:
        raise ValueError
    except ValueError as error:
        pass
    try:
        error
    except UnboundLocalError as gone:
        return str(gone)


@program
def name_is_deleted_after_return_and_break():
    """Also if the handler is left by `break`, `continue` or an exception."""
    seen = []
    for i in range(3):
        try:
            raise ValueError(i)
        except ValueError as error:
            if i == 0:
                continue
            if i == 2:
                break
    seen.append("error" in locals())
    try:
        try:
            raise ValueError
        except ValueError as error:
            raise KeyError from None
    except KeyError:
        seen.append("error" in locals())
    return seen


@program
def name_may_be_deleted_by_the_handler():
    """`del` of the name inside of the handler is fine, and so is rebinding."""
    try:
        raise ValueError
    except ValueError as error:
        del error
    try:
        raise ValueError
    except ValueError as error:
        error = 1
    return "error" in locals()


@program
def handler_expression_is_evaluated():
    """Handler expressions are evaluated only when an exception arrives, in order, until one matches."""
    log = []

    def say(x):
        log.append(x.__name__)
        return x

    try:
        pass
    except say(ValueError):
        pass
    try:
        raise KeyError
    except say(ValueError):
        pass
    except say(LookupError):
        pass
    except say(Exception):
        pass
    return log


@program
def handler_expression_raises():
    """An exception in a handler expression has the first one as its context."""
    try:
        raise KeyError("k")
    except undefined_handler:
        pass


@called_with((1,), ("x",), ((ValueError, 3),), (((ValueError, KeyError),),))
def handler_of_wrong_type(kind):
    """Handlers must be exception classes or tuples of them."""
    try:
        raise KeyError("k")
    except kind:
        return "caught"


@program
def nested_tuple_of_handlers():
    """A tuple of classes given by name."""
    kinds = (ValueError, KeyError)
    try:
        raise KeyError("k")
    except kinds as error:
        return type(error).__name__


@program
def exception_group_of_bases():
    """`except BaseException` also takes what is no Exception."""
    seen = []
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, ValueError):
        try:
            try:
                raise kind(1)
            except Exception:
                seen.append("exception")
        except BaseException as error:
            seen.append(type(error).__name__)
    return seen


@program
def bare_except():
    """A bare `except` takes everything; sys.exc_info tells what."""
    seen = []
    for kind in (KeyboardInterrupt, ValueError):
        try:
            raise kind("x")
        except:
            seen.append((sys.exc_info()[0].__name__, sys.exc_info()[1].args))
    seen.append(sys.exc_info())
    return seen


@program
def exc_info_nested():
    """`sys.exc_info()` is what is being handled here, also in functions and after."""

    def current():
        return sys.exc_info()[0] and sys.exc_info()[0].__name__

    seen = [current()]
    try:
        raise KeyError
    except KeyError:
        seen.append(current())
        try:
            raise ValueError
        except ValueError:
            seen.append(current())
        seen.append(current())
    seen.append(current())
    return seen


@program
def exc_info_in_finally():
    """`finally` on the way out handles the exception."""
    seen = []
    try:
        try:
            raise KeyError("k")
        finally:
            seen.append(sys.exc_info()[0])
    except KeyError:
        pass
    try:
        pass
    finally:
        seen.append(sys.exc_info()[0])
    return seen


@program
def traceback_lines():
    """A traceback names the line of each frame, innermost last."""

    def f(x):
        y = x + 1
        return g(
            y,
            0,
        )

    # fmt: off
    def g(a, b):
        return (
            a
            /
            b
        )
    # fmt: on

    try:
        f(1)
    except ZeroDivisionError as error:
        frames = traceback.extract_tb(error.__traceback__)
        first = traceback_lines.__code__.co_firstlineno
        return [
            (frame.name, frame.lineno - first) for frame in frames if "programs" in frame.filename
        ]


@program
def traceback_of_caught_and_reraised():
    """A re-raised exception keeps its lines; the frame of the handler is named once."""

    def f():
        raise KeyError("k")

    def g():
        try:
            f()
        except KeyError:
            raise

    def h():
        try:
            f()
        except KeyError as error:
            raise error

    seen = []
    first = traceback_of_caught_and_reraised.__code__.co_firstlineno
    for call in (g, h):
        try:
            call()
        except KeyError as error:
            frames = traceback.extract_tb(error.__traceback__)
            seen.append([(f.name, f.lineno - first) for f in frames if "programs" in f.filename])
    return seen


@program
def with_traceback():
    """`with_traceback(None)` starts anew."""
    try:
        try:
            raise KeyError("k")
        except KeyError as error:
            raise error.with_traceback(None)
    except KeyError as error:
        depth, tb = 0, error.__traceback__
        while tb:
            depth, tb = depth + 1, tb.tb_next
        return depth


@program
def from_native_callback():
    """An exception raised in a callback passes through C code unchanged."""

    def key(x):
        return 1 // x

    try:
        sorted([3, 0, 1], key=key)
    except ZeroDivisionError as error:
        print(error)
    return list(map(key, [1, 0]))


@program
def from_native_function():
    """C functions raise at the user's line."""
    try:
        int("x")
    except ValueError as error:
        return str(
            error
        ), error.__traceback__.tb_lineno - from_native_function.__code__.co_firstlineno


@program
def custom_exceptions():
    """Exceptions with their own constructor, attributes and text."""

    class Failure(Exception):
        code = 1

        def __init__(self, what, *, code=2):
            super().__init__(f"failed: {what}")
            self.code = code

        def __str__(self):
            return f"[{self.code}] {super().__str__()}"

    class Worse(Failure):
        code = 3

    try:
        raise Worse("disk", code=7)
    except Failure as error:
        return str(error), error.args, error.code, Worse.code, repr(error)


@program
def exception_in_str_of_condition():
    """An exception raised by `__bool__`, `__eq__`, `__len__` in a condition."""

    class A:
        def __bool__(self):
            raise ValueError("bool")

        def __eq__(self, other):
            raise KeyError("eq")

        __hash__ = None

    seen = []
    a = A()
    for action in (
        lambda: 1 if a else 2,
        lambda: a == 1,
        lambda: not a,
        lambda: a and 1,
        lambda: a in [1],
    ):
        try:
            action()
        except (ValueError, KeyError) as error:
            seen.append(error.args[0])
    return seen


@program
def exception_in_iteration():
    """An exception of `__next__` leaves the loop; StopIteration ends it."""

    class It:
        def __init__(self, stop):
            self.n = 0
            self.stop = stop

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n == 3:
                raise self.stop
            return self.n

    seen = list(It(StopIteration("done")))
    try:
        for x in It(ValueError("bad")):
            seen.append(x)
        else:
            seen.append("else")
    except ValueError as error:
        seen.append(error.args)
    return seen


@program
def stop_iteration_in_for_body():
    """A StopIteration raised by the body is not the end of the loop."""
    seen = []
    try:
        for x in [1, 2]:
            seen.append(x)
            next(iter([]))
    except StopIteration:
        seen.append("passed")
    return seen


@program
def keyerror_from_user_code_in_dict():
    """A KeyError raised by `__hash__` or `__eq__` is the user's."""

    class K:
        def __hash__(self):
            raise KeyError("from hash")

    try:
        {}[K()]
    except KeyError as error:
        return error.args


@program
def attribute_error_details():
    """`name` and `obj` of AttributeError and NameError."""
    seen = []
    try:
        [].nothing
    except AttributeError as error:
        seen.append((error.name, error.obj))
    try:
        nothing_at_all
    except NameError as error:
        seen.append(error.name)
    return seen


@program
def import_error_details():
    """`name` of ImportError, from a missing module and a missing name."""
    seen = []
    try:
        import no_such_module_anywhere
    except ModuleNotFoundError as error:
        seen.append((error.name, str(error)))
    try:
        from os import no_such_name
    except ImportError as error:
        seen.append((error.name, type(error).__name__))
    return seen


@program
def unbound_names():
    """UnboundLocalError for locals, NameError for free and global names."""
    seen = []

    def local():
        if False:
            x = 1
        return x

    def free():
        def g():
            return y

        return g()
        y = 1

    for f in (local, free):
        try:
            f()
        except NameError as error:
            seen.append((type(error).__name__, str(error)))
    return seen


@program
def recursion_error():
    """Endless recursion raises RecursionError, which can be caught."""

    def f(n):
        return f(n + 1) + 1

    try:
        f(0)
    except RecursionError as error:
        return type(error).__name__


@program
def exception_variable_in_closure_and_traceback_cycle():
    """`error.__traceback__` belongs to the exception of this handler."""
    kept = []
    for i in range(2):
        try:
            [][i]
        except IndexError as error:
            kept.append(error)
    return [e.args for e in kept], kept[0] is kept[1], kept[1].__context__


@program
def reraise_from_saved():
    """An exception that was saved and is raised later, outside of its handler."""
    saved = None
    try:
        raise KeyError("saved")
    except KeyError as error:
        saved = error
    try:
        raise ValueError("other")
    except ValueError:
        raise saved


@program
def raise_in_default_and_decorator():
    """Exceptions while a function is being defined."""

    def deco(f):
        raise TypeError("deco")

    seen = []
    try:

        def f(x=1 // 0):
            pass

    except ZeroDivisionError:
        seen.append("default")
    try:

        @deco
        def g():
            pass

    except TypeError:
        seen.append("decorator")
    return seen, "f" in locals(), "g" in locals()


@program
def raise_in_class_body():
    """An exception in a class body leaves the class unbound."""
    try:

        class A:
            x = 1
            raise ValueError("body")

    except ValueError as error:
        return error.args, "A" in locals()


@program
def handler_in_generator_and_outside():
    """Handled exceptions inside and outside of a generator do not mix."""

    def g():
        try:
            raise KeyError("inside")
        except KeyError:
            yield sys.exc_info()[0].__name__
            yield sys.exc_info()[0].__name__
        yield sys.exc_info()[0] and sys.exc_info()[0].__name__

    it = g()
    seen = [next(it)]
    seen.append(sys.exc_info()[0])
    try:
        raise ValueError("outside")
    except ValueError:
        seen.append(next(it))
        seen.append(sys.exc_info()[0].__name__)
        seen.append(next(it))
    return seen


@program
def notes():
    """`add_note` keeps its lines (from 3.11)."""
    error = ValueError("x")
    if hasattr(error, "add_note"):
        error.add_note("first")
        error.add_note("second")
    raise error


@program
def while_unwinding_through_for():
    """The stack is cut to the right depth: iterators and half-built calls on it."""
    seen = []
    for i in range(3):
        for j in range(3):
            try:
                seen.append([i, j, max(i, j, 1 // (i - j), key=lambda x: x)])
            except ZeroDivisionError:
                seen.append((i, j))
    return seen


@program
def inside_of_expressions():
    """An exception in the middle of building containers and calls."""

    def boom():
        raise KeyError

    seen = []
    for action in (
        lambda: [1, 2, boom()],
        lambda: {1: 2, boom(): 3},
        lambda: {1: boom()},
        lambda: f"{1}{boom()}",
        lambda: print(1, 2, sep=boom()),
        lambda: (1, *boom()),
        lambda: 1 + boom() * 2,
        lambda: 0 < boom() < 3,
        lambda: [x for x in [1, 2] if boom()],
        lambda: slice(1, boom()),
        lambda: [][boom() : 2],
    ):
        try:
            action()
        except KeyError:
            seen.append(len(seen))
    return seen
