"""Control flow in structured form: branches and loops as Python beside the user's lines.

Each call of a control-flow operator is written as what it stands for: `if` and `else`, `while`, or
`for`. In it are the operators of its bodies, with the names that they have in the graph; a comment
gives the user's line wherever it is another than above.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from torch.fx import Node

from monograph.host.higher_order import ASSOCIATIVE_SCAN, COND, MAP, SCAN, WHILE_LOOP
from monograph.host.operator_types import OpOverload
from monograph.program.printing import UNKNOWN, place_of, type_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch.fx import Graph

_INDENT: Final = "    "
_COLUMN: Final = 56
"""Where comments begin, if the code is not longer."""
_CLONE: Final = "aten.clone.default"


def control_flow_text(module: Any) -> str:
    """Every construct of a graph module, outer ones first, with the line it was written in."""
    parts = [
        "\n".join([_heading(node), *_construct(module, node, "")])
        for node in module.graph.nodes
        if node.target in _WRITERS
    ]
    return "\n\n".join(parts) + "\n" if parts else "no branch or loop was captured\n"


def _heading(node: Node) -> str:
    place, _, code = _line_of(node).partition(": ")
    return f"# {place or 'from nowhere in particular'}" + (f"\n#     {code}" if code else "")


def _line_of(node: Node) -> str:
    """The user's line behind a node: `model.py:3 in forward: y = x + 1`; "" if unknown."""
    found = place_of(node)
    if found == UNKNOWN:
        return ""
    place, _, code = found.removeprefix("File: ").partition(", code: ")
    return f"{place.rpartition('/')[2]}: {code}"


# --- one construct -------------------------------------------------------------------------------


def _construct(module: Any, node: Node, indent: str) -> list[str]:
    return list(_WRITERS[node.target](module, node, indent))


def _cond(module: Any, node: Node, indent: str) -> Iterator[str]:
    condition, on_true, on_false, operands = node.args
    for word, body in ((f"if {_text(condition)}:", on_true), ("else:", on_false)):
        yield f"{indent}{word}"
        yield from _body(module, body, operands, indent + _INDENT, f"{node.name} = ", "()")


def _while_loop(module: Any, node: Node, indent: str) -> Iterator[str]:
    arguments: Any = node.args
    goes_on, step, begun, further = arguments
    asked, body = _graph(module, goes_on), _graph(module, step)
    names = [each.name for each in _inputs(body)][: len(begun)]
    carried = ", ".join(names)
    yield f"{indent}{carried} = {_listed(begun)}"
    question = _carried_answer(asked, names)
    inner = indent + _INDENT
    if question is not None:
        yield f"{indent}while {question}:"
    else:
        yield f"{indent}while True:"
        yield from _body(module, goes_on, (*names, *further), inner, "goes_on = ")
        yield f"{inner}if not goes_on:"
        yield f"{inner}{_INDENT}break"
    yield from _body(module, step, (*names, *further), inner, f"{carried} = ")
    yield f"{indent}{node.name} = {carried}"


def _carried_answer(asked: Graph, names: Sequence[str]) -> str | None:
    """What is carried that says whether a round comes, where that is all that is asked."""
    calls = [each for each in asked.nodes if each.op == "call_function"]
    if len(calls) == 1 and str(calls[0].target) == _CLONE:
        place = _inputs(asked).index(calls[0].args[0])
        return names[place] if place < len(names) else None
    return None


def _for(module: Any, node: Node, indent: str) -> Iterator[str]:
    """`map`, `scan` and `associative_scan`: a body for each slice along the first dimension."""
    body, begun, xs, further = _parts(node)
    names = [each.name for each in _inputs(_graph(module, body))]
    carried, slices = names[: len(begun)], names[len(begun) : len(names) - len(further)]
    if carried:
        yield f"{indent}{', '.join(carried)} = {_listed(begun)}"
    over = ", ".join(map(_text, xs))
    yield f"{indent}for {', '.join(slices)} in {over if len(xs) == 1 else f'zip({over})'}:"
    inner = indent + _INDENT
    given = (*carried, *slices, *further)
    to = f"{', '.join([*carried, f'{node.name}[...]'])} = "
    yield from _body(module, body, given, inner, to)


def _parts(node: Node) -> tuple[Any, Any, Any, Any]:
    """The body, what is carried at first, what is gone through, and what is used besides."""
    if node.target is SCAN:
        body, begun, xs, further = node.args
        return body, begun, xs, further
    body, xs, further = node.args
    if node.target is ASSOCIATIVE_SCAN:
        return body, xs, xs, further
    return body, (), xs, further


_WRITERS: Final[dict[Any, Callable[[Any, Node, str], Iterable[str]]]] = {
    COND: _cond,
    WHILE_LOOP: _while_loop,
    MAP: _for,
    SCAN: _for,
    ASSOCIATIVE_SCAN: _for,
}


# --- what is in it -------------------------------------------------------------------------------


def _graph(module: Any, body: Any) -> Graph:
    return getattr(module, body.target).graph


def _inputs(graph: Graph) -> list[Node]:
    return [each for each in graph.nodes if each.op == "placeholder"]


def _body(
    module: Any, body: Any, given: Any, indent: str, to: str, around: str = ""
) -> Iterator[str]:
    """The lines of a body: what it is given under another name, what it does, what it gives.

    `around` are the brackets of a result that is taken apart later.
    """
    inner = getattr(module, body.target)
    for own, value in zip(_inputs(inner.graph), given, strict=False):
        if own.name != _text(value):
            yield f"{indent}{own.name} = {_text(value)}"
    last = ""
    for node in inner.graph.nodes:
        if node.target in _WRITERS:
            yield from _construct(inner, node, indent)
        elif node.op == "call_function":
            line = _line_of(node)
            comment = "" if line == last else line
            last = line or last
            yield _with_comment(f"{indent}{_call(node)}", comment)
        elif node.op == "output":
            result = _listed(node.args[0])
            yield f"{indent}{to}{around[:1]}{result}{',)' if around else ''}"


def _with_comment(code: str, comment: str) -> str:
    return f"{code:<{_COLUMN}}  # {comment}" if comment else code


def _call(node: Node) -> str:
    kind = type_text(node.meta.get("val"))
    name = f"{node.name}: {kind}" if kind and isinstance(node.target, OpOverload) else node.name
    if node.target is operator.getitem:
        return f"{name} = {_text(node.args[0])}[{_text(node.args[1])}]"
    arguments = [_text(each) for each in node.args]
    arguments += [f"{key}={_text(value)}" for key, value in node.kwargs.items()]
    return f"{name} = {_target(node.target)}({', '.join(arguments)})"


def _target(target: Any) -> str:
    if isinstance(target, OpOverload):
        return str(target.overloadpacket)
    return getattr(target, "__name__", str(target))


def _listed(values: Any) -> str:
    if isinstance(values, list | tuple):
        return ", ".join(map(_text, values)) if values else "()"
    return _text(values)


def _text(value: Any) -> str:
    if isinstance(value, Node):
        return value.name
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return value if isinstance(value, str) and value.isidentifier() else repr(value)


__all__ = ["control_flow_text"]
