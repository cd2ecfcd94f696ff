"""Names at run time: imports in functions, globals, locals, exec, eval, modules."""

import builtins
import sys

from tests.python.registry import called_with, program

VALUE = "module"


@program
def imports_inside():
    """Imports in functions bind locals, by their first part or their `as` name."""
    import collections.abc
    import os.path as p
    from functools import partial as make
    from functools import reduce

    return (
        sorted(locals()),
        collections.abc.Sized.__name__,
        p.basename("a/b"),
        make(max, 1)(2),
        reduce(max, [1, 5]),
    )


@program
def import_star_in_module():
    """`from x import *` takes `__all__`, or what has no underscore."""
    scope = {}
    exec("from string import *", scope)
    return "ascii_letters" in scope, "_re" in scope, "Template" in scope


@program
def import_submodule_attribute():
    """`import a.b.c as d` and `from a import b` give modules."""
    import xml.dom.minidom as d
    from xml import dom

    return d.__name__, dom.__name__, d is dom.minidom


@program
def import_failures():
    """Missing modules and names, caught by the fallback idiom."""
    try:
        import _no_such_module as fast
    except ImportError:
        import json as fast
    try:
        from json import no_such_thing
    except ImportError:
        no_such_thing = None
    return fast.__name__, no_such_thing


@program
def import_hook_is_used():
    """The `import` statement calls `__import__` of the builtins it sees."""
    log = []

    def hook(name, globals=None, locals=None, fromlist=(), level=0):
        log.append((name, fromlist, level))
        return builtins.__import__(name, globals, locals, fromlist, level)

    scope = {"__builtins__": {**vars(builtins), "__import__": hook}}
    exec("import os.path\nfrom sys import path, argv as a\nimport json as j", scope)
    return log, "os" in scope, "a" in scope


@program
def globals_and_locals():
    """`globals()` is the module's dict; `locals()` a snapshot in functions."""
    x = 1
    snapshot = locals()
    y = 2
    return (
        globals()["VALUE"],
        globals() is sys.modules[__name__].__dict__,
        snapshot.get("x"),
        "y" in snapshot,
        y,
    )


@program
def writing_globals():
    """Names made through `globals()` are global names."""
    globals()["MADE"] = 5
    try:
        return MADE + 1
    finally:
        del globals()["MADE"]


@program
def builtins_are_shadowed():
    """Global names win over builtins, and deleting them brings builtins back."""
    scope = {}
    exec("def f(): return len([1, 2])", scope)
    before = scope["f"]()
    scope["len"] = lambda x: "shadow"
    during = scope["f"]()
    del scope["len"]
    return before, during, scope["f"]()


@program
def builtins_are_changed():
    """A changed builtin is seen by the function."""

    def f():
        return len([1])

    builtins.brand_new_name = 7
    try:
        return f(), brand_new_name
    finally:
        del builtins.brand_new_name


@program
def custom_builtins():
    """A function keeps the builtins its globals had when it was made."""
    scope = {"__builtins__": {"len": lambda x: "own len"}}
    exec("def f(x): return len(x)\ndef g(): return print", scope)
    try:
        scope["g"]()
    except NameError as error:
        return scope["f"]([]), str(error)


@called_with(
    ("1 + 1",), ("x * 2",), ("[y for y in range(x)]",), ("undefined",), ("1 +",), ("(lambda: x)()",)
)
def evaluating(source):
    """`eval` sees the locals of its caller."""
    x = 3
    try:
        return eval(source)
    except (NameError, SyntaxError) as error:
        return type(error).__name__, x


@program
def eval_with_namespaces():
    """`eval` and `exec` with given namespaces, mappings included."""

    class M(dict):
        def __missing__(self, key):
            return f"<{key}>"

    scope = {"a": 1}
    local = M()
    exec("b = a + '!'\nc = zzz", scope, local)
    return eval("a", scope), eval("q", {}, M()), dict(local), eval("a", {"a": 1}, {"a": 2})


@program
def exec_defines_functions():
    """Functions made by `exec` are ordinary, with a file name of their own."""
    scope = {"base": 10}
    exec(
        compile("def f(x, *a, k=1):\n    return base + x + k + sum(a)\n", "made.py", "exec"), scope
    )
    return scope["f"](1), scope["f"](1, 2, 3, k=4), scope["f"].__code__.co_filename


@program
def exec_with_classes_and_loops():
    """Statements of a module body: classes, loops, comprehensions, try."""
    scope = {}
    exec(
        """
total = 0
for i in range(5):
    if i == 3:
        continue
    total += i
class A:
    n = total
    def f(self):
        return self.n * k
k = 2
try:
    1 / 0
except ZeroDivisionError as e:
    message = str(e)
else:
    message = None
values = [A().f() for _ in range(2)]
del i
""",
        scope,
    )
    return scope["total"], scope["values"], scope["message"], "i" in scope, "e" in scope


@program
def exec_locals_do_not_write_back():
    """`exec` in a function cannot change its locals."""
    x = 1
    exec("x = 2")
    return x


@program
def compile_modes():
    """`single`, `eval` and `exec`."""
    return (
        eval(compile("1 + 2", "f", "eval")),
        exec(compile("1 + 2", "f", "exec")),
        compile("x = 1", "f", "exec").co_names,
    )


@program
def delete_global():
    """`del` of a global, and of one that is not there."""
    global TEMPORARY
    TEMPORARY = 1
    del TEMPORARY
    try:
        del TEMPORARY
    except NameError as error:
        return str(error)


@program
def dir_without_arguments():
    """`dir()` lists the names of the caller."""
    b, a = 1, 2
    return dir(), a + b


@program
def vars_without_arguments():
    """`vars()` is `locals()`."""
    b, a = 1, 2
    return sorted(vars().items()), a + b


@program
def locals_in_nested_and_class():
    """`locals()` in lambdas, comprehensions of older kind, and class bodies."""
    outer = 1

    def f(a, *b, c, **d):
        e = outer
        return sorted(locals())

    class A:
        x = 1
        names = sorted(k for k in locals() if not k.startswith("__"))

    return f(1, c=2), A.names, (lambda q: locals())(5)


@program
def module_attributes():
    """Modules have dicts, and `__getattr__` of their own."""
    module = type(sys)("made")
    exec(
        "x = 1\ndef __getattr__(name):\n    return name.upper()\ndef f():\n    return x",
        module.__dict__,
    )
    module.x = 5
    return module.x, module.y, module.f(), module.__name__


@program
def name_and_file():
    """`__name__` of the module a function was made in."""
    return __name__.rpartition(".")[2], __file__.replace("\\", "/").rpartition("/")[2]


@program
def function_type_called():
    """`types.FunctionType` with other globals, defaults and closure."""

    def make():
        y = 1

        def f(a, b=2):
            return VALUE, a, b, y

        return f

    f = make()
    g = type(f)(f.__code__, {"VALUE": "other"}, "g", (7,), f.__closure__)
    return f(1), g(1), g.__name__, g.__defaults__


@program
def code_replace():
    """`code.replace` makes a working function."""

    def f(a):
        return a + 1000

    code = f.__code__
    f.__code__ = code.replace(
        co_consts=tuple(5 if c == 1000 else c for c in code.co_consts), co_name="h"
    )
    return f(1), f.__name__, f.__code__.co_name


@program
def getattr_on_module_functions():
    """Functions read from modules at run time."""
    import math
    import operator

    return (
        [getattr(math, n)(9) for n in ("sqrt", "floor")],
        getattr(operator, "add")(1, 2),
        hasattr(math, "nothing"),
    )


@program
def name_error_in_class_body():
    """A class body looks in its own names, then globals, then builtins."""
    VALUE = "local"

    class A:
        a = len
        b = VALUE
        len = 5
        c = len
        del len
        d = len

    return A.a is len, A.b, A.c, A.d is len


@program
def frame_inspection():
    """`sys._getframe` names the running function and its caller's line."""

    def f():
        frame = sys._getframe()
        return frame.f_code.co_name, sorted(frame.f_locals), frame.f_globals is globals()

    return f()


@program
def caller_inspection():
    """The idiom of libraries that look at their caller."""

    def who():
        return sys._getframe(1).f_code.co_name, sys._getframe(1).f_locals.get("secret")

    def caller():
        secret = 42
        return who(), secret

    return caller()
