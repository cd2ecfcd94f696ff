"""Imports go downward, reach nothing private of torch outside host, and never its exporter."""

import ast
import re
import subprocess
import sys
from types import FunctionType

from tests.repo.sources import ROOT, dotted, environment, imported, is_within, sources

FORBIDDEN = (
    "sympy",
    "torch._dynamo",
    "torch._export",
    "torch._functorch",
    "torch._subclasses",
    "torch.export",
    "torch.fx.experimental",
)
# Imported inside functions only, so that `import monograph` does not pay for them.
LATE = ("rich", "typer", "z3")
# Interop alone, and inside functions only: the systems that it hands programs over to.
LATE_IN_INTEROP = (
    *("torch._dynamo", "torch._export", "torch._inductor", "torch.export"),
    "torch.fx.experimental",
)
PRIVATE = re.compile(r"_(?!_)")
PYTHONS = {
    *("_bootstrap", "_fields", "_find_and_load", "_getframe", "_initializing", "_replace"),
    *("_getframemodulename", "_schema"),
}
"""Of named tuples, `sys` and `importlib`; an operator's schema has no other name."""
WRAPPERS = (staticmethod, classmethod)
OPERATORS = ("_aten", "aten")
CHECKS = ("torch._check", "torch._check_is_size", "torch._check_value")
"""Documented, and what torch tells its users to call."""
TORCHLESS = ("bytecode", "diagnostics", "integers")


def test_layers_hold():
    """Every contract of pyproject.toml holds, indirect imports included."""
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_exporter_of_torch_is_not_imported():
    """No file outside interop imports or names torch.export, Dynamo, fake tensors or sympy."""
    found = [
        f"{source.at(node)} {name}"
        for source in sources()
        if source.folder != "interop"
        for node, name in [*imported(source.tree), *looked_up(source.tree)]
        if any(is_within(name, module) for module in FORBIDDEN)
    ]
    assert not found, "\n".join(found)


def test_what_needs_no_torch_imports_none():
    """Integers, messages and the interpreter of bytecode stand on their own."""
    found = [
        f"{source.at(node)} {name}"
        for source in sources()
        if source.folder in TORCHLESS
        for node, name in imported(source.tree)
        if is_within(name, "torch")
    ]
    assert not found, "\n".join(found)


def test_private_torch_is_touched_in_host_alone():
    """No file outside host imports or spells a name of torch with a leading underscore."""
    found = [
        f"{source.at(node)} {name}"
        for source in sources()
        if source.folder not in ("host", "interop")
        for node, name in [*imported(source.tree), *looked_up(source.tree)]
        if is_private_torch(name)
    ]
    assert not found, "\n".join(found)


def test_private_attributes_of_torch_are_read_in_host_alone():
    """Nor does one read, set or look for an attribute that torch keeps to itself, of any object.

    A name is torch's if one of its modules or classes has it or one of its functions names it, and
    ours if a class or function of ours defines it.
    """
    theirs = (
        names_kept_by_torch() - PYTHONS - {name for each in sources() for name in defined(each)}
    )
    found = [
        f"{source.at(node)} {name}"
        for source in sources()
        if source.folder not in ("host", "interop")
        for node, name in private_attributes(source.tree)
        if name in theirs
    ]
    assert not found, "\n".join(found)


def test_functions_import_only_what_is_late_by_design():
    """An import inside a function is z3, an extra, a system of interop, or host's of slow torch."""
    found = [
        f"{source.at(node)} {name}"
        for source in sources()
        if source.folder != "host"
        for function in ast.walk(source.tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node, name in imported(function)
        if not any(is_within(name, module) for module in late(source.folder))
    ]
    assert not found, "\n".join(found)


def test_interop_imports_no_other_system_before_it_is_asked():
    """At the top of a file of interop stands nothing that another system's users alone need."""
    found = [
        f"{source.at(node)} {name}"
        for source in sources()
        if source.folder == "interop"
        for statement in source.tree.body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        for node, name in imported(statement)
        if any(is_within(name, module) for module in (*FORBIDDEN, *LATE_IN_INTEROP))
    ]
    assert not found, "\n".join(found)


def names_kept_by_torch():
    """Give every name with one leading underscore that torch, as far as it is loaded, uses."""
    names = set()
    for path, module in [*sys.modules.items()]:
        if is_within(path, "torch"):
            for name, value in [*vars(module).items()]:
                names.add(name)
                names.update(names_within(value))
    return {name for name in names if PRIVATE.match(name)}


def names_within(value):
    """Give the names of a class, and those that its functions, or a function, speak of."""
    members = [value]
    if issubclass(type(value), type):  # some objects of torch warn when they are asked
        members += vars(value).values()
        yield from vars(value)
    for member in members:
        function = getattr(member, "__func__", None) if type(member) in WRAPPERS else member
        if type(member) is property:
            function = member.fget
        if type(function) is FunctionType:
            yield from function.__code__.co_names


def defined(source):
    """Give what a file names its functions, its classes' fields, and what objects keep."""
    for node in ast.walk(source.tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def private_attributes(tree):
    """Give attributes with one leading underscore, but not operators, nor a parent's methods."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
                continue
            case ast.Attribute(value=value, attr=name) if PRIVATE.match(name):
                if (dotted(value) or "").split(".")[-1] not in OPERATORS:
                    yield node, name
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr" | "delattr"),
                args=[_, ast.Constant(value=str(name)), *_],
            ) if PRIVATE.match(name):
                yield node, name


def late(folder):
    """Give what files of this folder may import inside functions."""
    return (*LATE, *LATE_IN_INTEROP) if folder == "interop" else LATE


def looked_up(tree):
    """Give every chain of attributes and every constant name handed to an import function."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                name = dotted(node)
                if name is not None:
                    yield node, name
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if dotted(
                function
            ) in ("__import__", "importlib.import_module", "import_module"):
                yield node, name


def is_private_torch(name):
    """Say whether the name starts at torch and passes through an underscore.

    Operators may begin with one; pytree has no other name, and all of the ecosystem uses this one.
    """
    if name in CHECKS or name.startswith(("torch.ops.", "torch.utils._pytree")):
        return False
    first, *others = name.split(".")
    return first == "torch" and any(PRIVATE.match(part) for part in others)
