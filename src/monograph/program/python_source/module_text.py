"""Source of a whole program: one Python file that people read, run and step through.

The file has a function with the original's parameters, after the state it reads: `forward(state,
x)`. Its lines are the calls of the graph, under the user's lines that they come from; sizes are
plain arithmetic, regions are `with` blocks, other subgraphs are functions, and the contract is a
function of assertions. Law: running the text gives what `program.module()` gives.
"""

from __future__ import annotations

import itertools
import json
import operator
import os
import re
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.fx.node import Node

from monograph.abstract.symbols import to_python
from monograph.diagnostics import problem
from monograph.host.operator_types import OpOverload
from monograph.host.trees import has_objects
from monograph.integers import Expr, is_symbol
from monograph.program.calling.assertions import (
    ASSERT_METADATA,
    N_STATED,
    assert_holds,
    assert_promised,
)
from monograph.program.calling.subgraph_calls import LOOPS, REGIONS, run_cond
from monograph.program.contract import state_asked, tables
from monograph.program.fresh_names import Names, operator_name
from monograph.program.graph_module import GraphModule
from monograph.program.printing import type_text
from monograph.program.python_source.checks import check_lines, functions_of_checks
from monograph.program.python_source.layout import (
    INDENT,
    WIDTH,
    Bracketed,
    name_list,
    one_line,
    statement,
)
from monograph.program.python_source.loops import loop_lines, n_returned
from monograph.program.python_source.structures import (
    built,
    importable,
    leaf_paths,
    length_conditions,
    structure_conditions,
)
from monograph.program.python_source.values import (
    ATOM,
    Source,
    arithmetic,
    constant,
    named,
    sequence,
)
from monograph.program.stateful_module import STATE, runnable_children, stateful_graph

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monograph.program.program import ExportedProgram
    from monograph.program.python_source.layout import Text

USED = (
    "overlap",
    "span",
    "torch",
    "aten",
    "math",
    "operator",
    "pytree",
    "range",
    "float",
    "int",
    "sum",
    "map",
    "zip",
)
"""What the text means something by, so that nothing else may be called so."""

FRAME = re.compile(r'^File "(.+)", line (\d+), in (.+)$')
LIBRARY = os.path.dirname(torch.__file__) + os.sep  # noqa: PTH120  (a prefix of strings)


def to_python_text(program: ExportedProgram) -> str:
    """Return the program as the text of one Python file.

    Raises: program-not-spelt.
    """
    if program.contract.changes is not None:
        raise problem("program-not-spelt", what="a change of an object that the caller passes in")
    if has_objects(program.in_spec) or has_objects(program.out_spec):
        raise problem("program-not-spelt", what="an object of a class that no pytree knows")
    if program.contract.inference_results:
        raise problem("program-not-spelt", what="a result that is an inference tensor")
    return _Text(program).whole()


class _Text:
    """Writes one program."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.module = GraphModule(runnable_children(program), stateful_graph(program, check=False))
        self.names = Names({*USED, *program.call_names.positional, *program.call_names.keywords})
        self.classes: dict[type, str] = {}
        self.functions: list[str] = []
        self.functions_of: dict[Node, str] = {}
        self.state = self.names.fresh("state")
        self.check = self.names.fresh("check_inputs")
        self.symbols: dict[Expr, str] = {}
        self.values: dict[Node, Source] = {}
        """How each value is spelt where it is used."""

    # --- the file ----------------------------------------------------------------------------

    def whole(self) -> str:
        """The text of the file."""
        taken_apart, leaves = self._inputs()
        checks = self._checks(leaves)
        body = _Body(self, INDENT)
        body.write(self.module)
        parameters = self._parameters()
        head = f"def forward({', '.join([self.state, *filter(None, [parameters])])}):"
        if len(head) > WIDTH:
            inside = Bracketed("def forward", tuple(head[12:-2].split(", ")))
            head = "\n".join(statement("", inside, "")) + ":"
        call = statement("", Bracketed(self.check, tuple(self._checked(leaves))), INDENT)
        first = [*taken_apart, *call] if leaves else taken_apart
        lines = [head, *first, *body.lines]
        main = "\n".join(lines)
        asked = functions_of_checks(self.program.contract) if leaves else []
        top = f"{self._docstring()}\n\n{self._imports(main, [*asked, *checks])}"
        return "\n\n\n".join([top, *asked, *checks, *self.functions, main]) + "\n"

    def _docstring(self) -> str:
        root = next(
            (
                kind.rpartition(".")[2]
                for node in self.program.graph.nodes
                for path, kind in node.meta.get("nn_module_stack", {}).values()
                if not path
            ),
            "A program",
        )
        lines = [f"{root} as one function of PyTorch operators, written by monograph.", ""]
        lines += ["Call `forward(state, ...)` with the inputs of the model, where", ""]
        lines += [f"{INDENT}state = {{**program.state_dict, **program.constants}}"]
        for title, rows in tables(self.program.contract)[:2]:
            if rows:
                lines += ["", title.capitalize(), ""]
                widths = [max(map(len, column)) for column in zip(*_even(rows), strict=True)]
                lines += [
                    (
                        INDENT + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True))
                    ).rstrip()
                    for row in _even(rows)
                ]
        text = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        return f'"""{text}\n"""'

    def _imports(self, main: str, checks: list[str]) -> str:
        text = "\n".join([main, *checks, *self.functions])
        lines = [f"import {name}" for name in ("math", "operator") if f"{name}." in text]
        lines += [""] if lines else []
        lines.append("import torch")
        modules = sorted({kind.__module__ for kind in self.classes} - {"builtins"})
        for module in modules:
            names = sorted(
                kind.__qualname__ if name == kind.__qualname__ else f"{kind.__qualname__} as {name}"
                for kind, name in self.classes.items()
                if kind.__module__ == module
            )
            lines.append(f"from {module} import {', '.join(names)}")
        if "pytree." in text:
            lines.append("from torch.utils import _pytree as pytree")
        if "aten." in text:
            lines += ["", "aten = torch.ops.aten"]
        return "\n".join(lines)

    def class_name(self, kind: type) -> str:
        """How a class is called in the text, which imports it.

        Raises: program-not-spelt.
        """
        found = self.classes.get(kind)
        if found is None:
            if "." in kind.__qualname__ or not importable(kind):
                what = f"the class {kind.__qualname__}, which cannot be imported"
                raise problem("program-not-spelt", what=what)
            found = self.classes[kind] = self.names.fresh(kind.__qualname__)
        return found

    # --- inputs ------------------------------------------------------------------------------

    def _parameters(self) -> str:
        names = self.program.call_names
        return names.parameters() if self._is_plain() else "*args, **kwargs"

    def _is_plain(self) -> bool:
        names = self.program.call_names
        taken = {*USED} & {*names.positional, *names.keywords}
        return names.is_plain and not names.gathered and not taken

    def _inputs(self) -> tuple[list[str], list[str]]:
        """The lines that take the arguments apart, and the variables that hold the leaves."""
        program, lines = self.program, list[str]()
        leaves = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        args_spec, kwargs_spec = program.in_spec.children()
        specs = [*args_spec.children(), *kwargs_spec.children()]
        roots = self._roots()
        if program.call_names.gathered:
            order = json.dumps(program.call_names.gathered)
            lines.append(f"{INDENT}assert [key for key in kwargs if key in {order}] == {order}")
        if not self._is_plain():
            lines += [INDENT + line for line in length_conditions(program.call_names)]
        paths = [leaf_paths(root, spec) for root, spec in zip(roots, specs, strict=True)]
        if any(each is None for each in paths):
            arguments = program.call_names.arguments() if self._is_plain() else "args, kwargs"
            variables = [self.variable(node) for node in leaves]
            source = f"pytree.tree_leaves(({arguments}))"
            return [*lines, f"{INDENT}{name_list(variables)} = {source}"], variables
        for root, spec in zip(roots, specs, strict=True):
            for condition in structure_conditions(root, spec, self.class_name):
                lines.append(f"{INDENT}assert {condition}")
        variables: list[str] = []
        for node, path in zip(leaves, (path for each in paths for path in each or ()), strict=True):
            if path.isidentifier():
                self.values[node] = path, ATOM
                variables.append(path)
            else:
                variables.append(self.variable(node))
                lines.append(f"{INDENT}{variables[-1]} = {path}")
        return lines, variables

    def _roots(self) -> list[str]:
        """How each argument is spelt."""
        names = self.program.call_names
        if self._is_plain():
            return [*names.positional, *names.keywords]
        by_name = [f'kwargs["{name}"]' for name in names.keywords]
        return [*(f"args[{index}]" for index in range(len(names.positional))), *by_name]

    def variable(self, node: Node) -> str:
        """A variable for what a node makes."""
        name = self.names.fresh(node.name)
        self.values[node] = name, ATOM
        return name

    def _checked(self, leaves: list[str]) -> list[str]:
        """What the checks look at: the inputs, and the state where forward asked it."""
        return ["state", *leaves] if state_asked(self.program.contract) else leaves

    def _checks(self, leaves: list[str]) -> list[str]:
        contract = self.program.contract
        if not leaves:
            return []
        names = Names({*USED, *leaves})
        for symbol, shown in contract.names.items():
            self.symbols[symbol] = names.fresh(shown if shown.isidentifier() else _size_name(shown))
        for index, clause in enumerate(contract.clauses):
            for number in (getattr(clause, "value", None), getattr(clause, "symbol", None)):
                if isinstance(number, Expr) and is_symbol(number):
                    self.symbols[number] = leaves[index]
        lines = check_lines(contract, leaves, self.symbols, self.class_name)
        checked = tuple(self._checked(leaves))
        head = "\n".join(statement("", Bracketed(f"def {self.check}", checked), ""))
        doc = f'{INDENT}"""Refuse what the program does not vouch for."""'
        return ["\n".join([f"{head}:", doc, *lines])]


class _Body:
    """Writes the statements of one graph."""

    def __init__(self, text: _Text, indent: str) -> None:
        self.text = text
        self.indent = indent
        self.lines: list[str] = []
        self.place: tuple[str, ...] = ()

    # --- statements --------------------------------------------------------------------------

    def write(self, module: torch.fx.GraphModule) -> None:
        """Write the graph of the program, up to and including its return."""
        self._read_state(module)
        results = self.write_nodes(module, module.graph.nodes)
        kept = [self.spelt(value)[0] for value in results]
        result = built(self.text.program.out_spec, iter(kept), self.text.class_name)
        if isinstance(result, Bracketed) and result.is_tuple and len(result.inside) > 1:
            flat = ", ".join([one_line(each) for each in result.inside])
            if len(flat) + 11 <= WIDTH:
                result = flat
        self.lines += [] if self._is_fresh() else [""]
        self.lines += statement("return ", result, self.indent)

    def _read_state(self, module: torch.fx.GraphModule) -> None:
        bodies = {name for name, _ in module.named_children()}
        specs = self.text.program.graph_signature.input_specs
        targets = [spec.target for spec in specs if spec.kind in STATE]
        attributes = [
            node
            for node in module.graph.nodes
            if node.op == "get_attr" and node.target not in bodies
        ]
        for target, node in zip(targets, attributes, strict=False):
            key = json.dumps(target, ensure_ascii=False)
            self.text.values[node] = f"{self.text.state}[{key}]", ATOM

    def write_nodes(self, module: torch.fx.GraphModule, nodes: Iterable[Node]) -> Any:
        """Write the nodes of a graph; gives what its output node returns."""
        for node in nodes:
            if node.op == "output":
                return node.args[0]
            if node.op == "call_function" and node not in self.text.values:
                self._write_node(module, node)
        return ()

    def _write_node(self, module: torch.fx.GraphModule, node: Node) -> None:
        target: Any = node.target
        if target in REGIONS:
            self._write_region(module, node)
        elif target is run_cond:
            self._write_branches(module, node)
        elif target in LOOPS:
            self._write_loop(module, node)
        elif target is assert_holds:
            self._write_assertion(node)
        elif target is assert_promised:
            self._write_operator(node, ASSERT_METADATA, node.args[:N_STATED])
        elif isinstance(target, OpOverload):
            self._write_operator(node, target, node.args)
        else:
            self._write_number(node)

    def _write_assertion(self, node: Node) -> None:
        condition, message, names, *values = node.args
        words = repr(message)
        if names and isinstance(names, tuple):
            shown = [one_line(self.spelt(value)[0]) for value in values]
            pairs = [
                f"`{_in_braces(name)}` is {{{value}}}"
                for name, value in zip(names, shown, strict=True)
            ]
            quoted = repr(f"{_in_braces(message)}: {', '.join(pairs)}")
            words = f"f{quoted}"
        self._begin(node)
        self.lines += _assertion(self.indent, one_line(self.spelt(condition)[0]), words)

    def _write_operator(self, node: Node, target: OpOverload, args: tuple[Any, ...]) -> None:
        self._begin(node)
        if target is torch.ops.aten.sym_size.int:
            tensor, dim = node.args
            self._assign(node, f"{one_line(self.spelt(tensor)[0])}.shape[{dim}]", _size_base(node))
            return
        arguments = [self.spelt(arg)[0] for arg in args]
        for name, arg in node.kwargs.items():
            arguments.append(named(name, self.spelt(arg)[0]))
        self._assign(node, Bracketed(operator_name(target), tuple(arguments)), node.name)

    def _assign(self, node: Node, value: Text, name: str) -> None:
        """Give a call's result its name, or names where it is several and taken apart."""
        if not node.users or node.meta.get("val", node) is None:
            self.lines += statement("", value, self.indent)
            return
        parts = _parts(node)
        if parts is None:
            variable = self.text.names.fresh(name)
            self.text.values[node] = variable, ATOM
            kind = type_text(node.meta.get("val"))
            is_size = kind.startswith("Sym(")
            self.lines += statement(f"{variable} = ", value, self.indent, "" if is_size else kind)
            return
        names: list[str] = []
        for index, users in enumerate(parts):
            if not users:
                names.append("_")
                continue
            names.append(self.text.names.fresh(f"{name}_{index}"))
            for user in users:
                self.text.values[user] = names[-1], ATOM
        self.lines += statement(f"{name_list(names)} = ", value, self.indent)

    def _write_number(self, node: Node) -> None:
        """Arithmetic goes where it is used, if that is one place."""
        args = [self.spelt(arg) for arg in node.args]
        target: Any = node.target
        if target is operator.getitem:
            source: Source = f"{one_line(args[0][0])}[{one_line(args[1][0])}]", ATOM
        else:
            is_integral = all(not isinstance(each, float | torch.SymFloat) for each in _vals(node))
            found = arithmetic(target, args, is_integral=is_integral)
            if found is None:
                name = getattr(target, "__name__", str(target))
                raise problem("program-not-spelt", what=f"a call of {name}")
            source = found
        shown = one_line(source[0])
        if len(node.users) == 1 and len(shown) <= 24 and target is not operator.getitem:
            self.text.values[node] = source
            return
        self._begin(node)
        self._assign(node, source[0], node.name)

    # --- subgraphs ---------------------------------------------------------------------------

    def _write_region(self, module: torch.fx.GraphModule, node: Node) -> None:
        position = next(i for i, arg in enumerate(node.args) if self._is_subgraph(arg))
        attribute: Any = node.args[position]
        body: Any = module.get_submodule(str(attribute.target))
        settings = node.args[:position]
        self.lines += [] if self._is_fresh() else [""]
        self.lines.append(f"{self.indent}with {_mode(settings)}:")
        inputs = [each for each in body.graph.nodes if each.op == "placeholder"]
        for given, inside in zip(node.args[position + 1 :], inputs, strict=True):
            self.text.values[inside] = self.spelt(given)
        inner = _Body(self.text, self.indent + INDENT)
        results = inner.write_nodes(body, body.graph.nodes)
        while inner.lines and not inner.lines[-1]:
            inner.lines.pop()
        self.lines += [*(inner.lines or [f"{self.indent}{INDENT}pass"]), ""]
        self.place = ()
        for user in node.users:
            index: Any = user.args[1]
            if user.target is not operator.getitem or not isinstance(index, int):
                raise problem("program-not-spelt", what="the results of a region as one value")
            self.text.values[user] = self.spelt(results[index])

    def _write_branches(self, module: torch.fx.GraphModule, node: Node) -> None:
        """A conditional expression: either body is a function."""
        self._begin(node)
        condition, *bodies, operands = cast("tuple[Any, ...]", node.args)
        on_true, on_false = (self._function(module, each) for each in bodies)
        given = self._listed(operands)
        shown = one_line(self.spelt(condition)[0])
        text = f"{on_true}({given}) if {shown} else {on_false}({given})"
        self._assign(node, text, node.name)

    def _write_loop(self, module: torch.fx.GraphModule, node: Node) -> None:
        self._begin(node)
        args = [self._function(module, a) if self._is_subgraph(a) else a for a in node.args]
        n = n_returned(module, node)
        lines, results = loop_lines(node.target, args, n, self._listed, self.text.names.fresh)
        self.lines += [f"{self.indent}{line}" for line in lines]
        self._assign(node, results, node.name)

    def _listed(self, values: Any, suffix: str = "") -> str:
        """Values one after the other; what is done to each tensor of them."""
        return ", ".join(
            [one_line(self.spelt(each)[0]) + suffix * _is_tensor(each) for each in values]
        )

    def _function(self, module: torch.fx.GraphModule, arg: Any) -> str:
        """The name of the function that a body is."""
        if arg not in self.text.functions_of:
            body: Any = module.get_submodule(str(arg.target))
            name = self.text.names.fresh(str(arg.target))
            self.text.functions_of[arg] = name
            inner = _Body(self.text, INDENT)
            inputs = [each for each in body.graph.nodes if each.op == "placeholder"]
            variables = [self.text.variable(each) for each in inputs]
            results = inner.write_nodes(body, body.graph.nodes)
            returned = inner.spelt(results)[0]
            lines = [f"def {name}({', '.join(variables)}):", *inner.lines]
            lines += statement("return ", returned, INDENT)
            self.text.functions.append("\n".join(lines))
        return self.text.functions_of[arg]

    # --- expressions and comments ------------------------------------------------------------

    def spelt(self, arg: Any) -> Source:
        """How an argument is spelt."""
        if isinstance(arg, Node):
            return self.text.values[arg]
        if isinstance(arg, list | tuple):
            return sequence(arg, [self.spelt(each)[0] for each in arg]), ATOM
        return constant(arg)

    def _is_subgraph(self, arg: Any) -> bool:
        return isinstance(arg, Node) and arg.op == "get_attr" and arg not in self.text.values

    def _is_fresh(self) -> bool:
        return not self.lines or self.lines[-1] == ""

    def _begin(self, node: Node) -> None:
        """Say which line of the user comes next, where it is another than before."""
        place = user_line(node)
        module = _module(node)
        if not place[0] or (module, *place) == self.place:
            return
        self.place = (module, *place)
        where, code = place
        self.lines += [] if self._is_fresh() else [""]
        self.lines.append(f"{self.indent}# {where}{f' in {module}' if module else ''}")
        if code:
            self.lines.append(f"{self.indent}#     {code}")


# ------------------------------------------------------------------------------------------ words
def _module(node: Node) -> str:
    """The path of the innermost module around a node that is not PyTorch's own."""
    stack = node.meta.get("nn_module_stack", {}).values()
    own = [path for path, kind in stack if not kind.startswith("torch.nn.")]
    return own[-1] if own else ""


def user_line(node: Node) -> tuple[str, str]:
    """The innermost line of the user that made a node, as (`model.py:31`, its code)."""
    lines = (node.meta.get("stack_trace") or "").strip().split("\n")
    found = ("", "")
    for head, code in itertools.pairwise([*lines, ""]):
        frame = FRAME.match(head.strip())
        if frame and not (frame[1].startswith(LIBRARY) and found[0]):
            is_code = not FRAME.match(code.strip())
            place = f"{os.path.basename(frame[1])}:{frame[2]}"  # noqa: PTH119  (a name)
            found = place, code.strip() if is_code else ""
    return found


def _in_braces(text: object) -> str:
    """A text as an f-string has it."""
    return str(text).replace("{", "{{").replace("}", "}}")


def _assertion(indent: str, condition: str, message: str) -> list[str]:
    line = f"{indent}assert {condition}, {message}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{indent}assert {condition}, (", f"{indent}{INDENT}{message}", f"{indent})"]


def _mode(settings: Any) -> str:
    if len(settings) == 1:
        return f"torch.set_grad_enabled({settings[0]})"
    device, dtype, enabled, cache = settings
    return f'torch.autocast("{device}", {dtype}, {enabled}, {cache})'


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Node) and isinstance(value.meta.get("val"), torch.Tensor)


def _parts(node: Node) -> list[list[Node]] | None:
    """Who takes each of several results, None where the result is used otherwise."""
    val = node.meta.get("val")
    if not isinstance(val, tuple | list):
        return None
    parts: list[list[Node]] = [[] for _ in val]
    for user in node.users:
        if user.target is not operator.getitem or not isinstance(user.args[1], int):
            return None
        parts[user.args[1]].append(user)
    return parts


def _vals(node: Node) -> list[Any]:
    return [arg.meta.get("val") if isinstance(arg, Node) else arg for arg in (node, *node.args)]


def _size_base(node: Node) -> str:
    """`batch` for a size that is called so, else where it is seen: `x_size_0`."""
    val, (tensor, dim) = node.meta.get("val"), node.args
    number = to_python(val)
    if isinstance(number, Expr) and is_symbol(number) and number.name.isidentifier():
        is_anonymous = re.fullmatch(r"[su]\d+", number.name)
        if not is_anonymous:
            return number.name
    return f"{tensor}_size_{dim}"


def _size_name(shown: str) -> str:
    """`x_size_0` for `x.shape[0]`."""
    return re.sub(r"\W+", "_", shown.replace(".shape[", "_size_")).strip("_")


def _even(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    widest = max(map(len, rows))
    return [(*row, *[""] * (widest - len(row))) for row in rows]


__all__ = ["to_python_text", "user_line"]
