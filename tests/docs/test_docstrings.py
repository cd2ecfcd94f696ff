"""Public names say what they raise, the shapes of tensors, and of what their numbers are.

Walked are the names of the reference: those of `monograph.__all__`, and what is public in them.
What a function raises is read from its source and from the functions of its module that it calls.
"""

import ast
import builtins
import functools
import inspect
import re
import textwrap
import types

import pytest

import monograph
from monograph.diagnostics import page_names
from tests.docs.reference_pages import public_names
from tests.repo.sources import ROOT

NAMES = {*page_names()}
SAID = re.compile(r"\b[a-z]+(?:-[a-z0-9]+)+\b|\b[A-Z]\w*(?:Error|Errors|Violation)\b")
SHAPE = re.compile(r"\[[^\]]*\]|\bshapes?\b", re.IGNORECASE)
COUNTED = re.compile(
    r"\b(how many|number|version|bytes|elements|seconds|calls|None)\b", re.IGNORECASE
)
PUBLIC = dict(public_names())


def written(what):
    """The function that was written, of a property or a wrapper; of a class its `__init__`."""
    what = what.fget if isinstance(what, property) else what
    what = what.__init__ if isinstance(what, type) else inspect.unwrap(what)
    found = getattr(what, "__func__", what)
    return found if isinstance(found, types.FunctionType) else None


def documented(name):
    """The docstring of a name, with that of its class, and of how an instance is made."""
    what, holder = PUBLIC[name], PUBLIC.get(name.rpartition(".")[0])
    texts = [inspect.getdoc(what) or ""]
    if isinstance(what, type):
        texts.append(what.__init__.__doc__ or "")
    if isinstance(holder, type):
        texts.append(inspect.getdoc(holder) or "")
    return "\n".join(texts)


@functools.cache
def tree(function):
    """The source of a function; None where there is none (of a dataclass)."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return None


def raised(function, seen):
    """The names of errors that a function raises, and those of its module that it calls."""
    if function in seen or tree(function) is None:
        return set()
    seen.add(function)
    found, home = set(), function.__globals__
    owner = home.get(function.__qualname__.rpartition(".")[0])
    for node in ast.walk(tree(function)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found |= named(node.exc, home)
        if isinstance(node, ast.Call):
            called = None
            if isinstance(node.func, ast.Name):
                called = home.get(node.func.id)
            elif isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self":
                called = getattr(owner, node.func.attr, None)
            is_near = isinstance(called, types.FunctionType)
            if is_near and called.__module__ == function.__module__:
                found |= raised(called, seen)
    return found


def named(call, home):
    """What is raised: the name of a diagnostic, or its class, where users can name it."""
    for each in call.args:
        if isinstance(each, ast.Constant) and each.value in NAMES:
            return {each.value}
    name = ast.unparse(call.func)
    cls = home.get(name, getattr(builtins, name, None))
    is_public = isinstance(cls, type) and (
        cls.__module__ == "builtins" or hasattr(monograph, cls.__name__)
    )
    return {name} if is_public else set()


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_raised_is_said(name):
    """Each error that stands in the source of a public function is in its docstring."""
    function = written(PUBLIC[name])
    if function is None or not function.__module__.startswith("monograph"):
        return
    missing = raised(function, set()) - {*SAID.findall(documented(name))}
    assert not missing, f"{name} does not say that it raises {sorted(missing)}"


@functools.cache
def told():
    """Every text that stands alone in the source: also the names that diagnostics are raised by."""
    return {
        node.value
        for path in (ROOT / "src" / "monograph").rglob("*.py")
        if "messages" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_said_is_raised(name):
    """Each name after `Raises:` is that of an error that is raised, or a class of errors."""
    text = re.split(r"\n\n|\n(?=[A-Z]\w+:)", documented(name).partition("Raises:")[2])[0]
    for each in SAID.findall(text):
        if "-" in each:
            assert each in NAMES, f"{name}: no error is called {each}"
            assert each in told(), f"{name}: {each} is raised nowhere"
        else:
            near = getattr(written(PUBLIC[name]), "__globals__", {}).get(each)
            found = getattr(monograph, each, None) or getattr(builtins, each, None) or near
            assert isinstance(found, type), f"{name}: {each} is no class"
            assert issubclass(found, BaseException), f"{name}: {each} is no error"


def annotated(name, pattern):
    """The parameters whose types fit a pattern, and "return" where the result's does."""
    function = written(PUBLIC[name])
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    given = {each.name: each.annotation for each in signature.parameters.values()}
    given["return"] = signature.return_annotation
    texts = {
        key: each if isinstance(each, str) else inspect.formatannotation(each)
        for key, each in given.items()
    }
    return [key for key, text in texts.items() if re.search(pattern, text)]


@pytest.mark.parametrize("name", PUBLIC)
def test_tensors_have_shapes(name):
    """A tensor that is taken or given has its shape in the docstring; state goes by its names."""
    tensors = annotated(name, r"(?<!str, )(?<!str, torch\.)\bTensor\b")
    assert not tensors or SHAPE.search(documented(name)), f"{name}: of what shape is {tensors}?"


@pytest.mark.parametrize("name", PUBLIC)
def test_numbers_have_units(name):
    """A number that is taken is named in the docstring, and one that is given has a unit."""
    numbers = annotated(name, r"^(?!.*Callable).*\b(?:int|float)\b")
    text = documented(name)
    unsaid = [each for each in numbers if each not in {"return", "_"} and f"`{each}`" not in text]
    assert not unsaid, f"{name} does not say of what {unsaid} are"
    assert "return" not in numbers or COUNTED.search(text), f"{name}: a number of what?"
