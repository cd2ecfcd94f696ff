"""The graph printer: every value with its type, every run of nodes with the user's line.

The text is torch's own readable form, character for character, so that a program prints here as it
prints there; types go through `type_text` because our values are abstract tensors.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

_SINCE_2_14 = {"bcomplex32": "bc32"}
# How a dtype is written in types; `torch.` is dropped from one that is not listed.
DTYPES = {
    torch.bfloat16: "bf16",
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.float8_e4m3fn: "f8e4m3fn",
    torch.float8_e5m2: "f8e5m2",
    torch.float8_e4m3fnuz: "f8e4m3fnuz",
    torch.float8_e5m2fnuz: "f8e5m2fnuz",
    torch.float8_e8m0fnu: "f8e8m0fnu",
    torch.float4_e2m1fn_x2: "f4e2m1fnx2",
    torch.complex32: "c32",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "b8",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.bits8: "b8x1",
    torch.bits16: "b16x1",
    torch.bits1x8: "b1x8",
    torch.bits2x4: "b2x4",
    torch.bits4x2: "b4x2",
    **{getattr(torch, name): text for name, text in _SINCE_2_14.items() if hasattr(torch, name)},
}

COUNTER = re.compile(r"# COUNTER: (\d+)")
FRAME = re.compile(r'^File "(.+)", line (\d+), in (.+)$')
UNKNOWN = "No stacktrace found for following nodes"


def dtype_text(dtype: torch.dtype) -> str:
    """Return the short name of a dtype.

    >>> dtype_text(torch.float32)
    'f32'
    """
    return DTYPES.get(dtype) or str(dtype).removeprefix("torch.")


def type_text(value: object, *, with_strides: bool = False, with_device: bool = False) -> str:
    """Return the type of a value of a node, as `f32[batch, 4]` or `Sym(n)`; "" if it has none.

    >>> type_text(torch.zeros(2, 3))
    'f32[2, 3]'
    """
    match value:
        case torch.Tensor():
            text = f"{dtype_text(value.dtype)}{_sizes(value.shape)}"
            strides = _sizes(value.stride()) if with_strides else ""
            return f"{text}{strides}{value.device if with_device else ''}"
        case torch.SymInt() | torch.SymFloat() | torch.SymBool():
            return f"Sym({value})"
        case tuple() | list():
            return f"({', '.join(type_text(each) for each in value)})"
        case _:
            return ""


def readable(
    module: torch.nn.Module, name: str, *, with_strides: bool = False, with_device: bool = False
) -> str:
    """Return the class that the module's graph is, with those of its subgraphs below it."""
    graph: Any = module.graph
    nodes = list(graph.nodes)

    def annotate(body: list[str]) -> list[str]:
        return list(_annotated(body, nodes, with_strides=with_strides, with_device=with_device))

    with graph.on_generate_code(
        lambda before: lambda body: annotate(before(body) if before else body)
    ):
        source = graph.python_code(root_module="self").src
    code = _with_input_types(
        source.lstrip("\n"), nodes, with_strides=with_strides, with_device=with_device
    )
    parts = [
        readable(child, child_name, with_strides=with_strides, with_device=with_device)
        for child_name, child in module.named_children()
        if isinstance(child, torch.fx.GraphModule)
    ]
    return _indented(f"class {name}(torch.nn.Module):\n{code}") + _indented("\n".join(["", *parts]))


def place_of(node: torch.fx.Node) -> str:
    """Return the innermost line of the node's stack trace: `File: x.py:3 in forward, code: ...`."""
    lines = (node.stack_trace or "").strip().split("\n")
    for head, code in reversed(list(itertools.pairwise(lines))):
        found = FRAME.match(head.strip())
        if found:
            return f"File: {found[1]}:{found[2]} in {found[3]}, code: {code.strip()}"
    return UNKNOWN


def _annotated(
    body: list[str], nodes: list[torch.fx.Node], *, with_strides: bool, with_device: bool
) -> Iterable[str]:
    """Put places above and types into the pieces of code fx made; a counter starts each node."""
    last = None
    starting: torch.fx.Node | None = None
    for piece in body:
        counter = COUNTER.match(piece)
        if counter:
            starting = nodes[int(counter[1])]
            if starting.op not in {"placeholder", "output"}:
                place = place_of(starting)
                if place != last:
                    last = place
                    yield f"\n# {place}\n"
            yield piece
            continue
        head = "" if starting is None else f"{starting.name} = "
        if starting is not None and piece.startswith(head) and starting.op != "placeholder":
            annotation = _annotation(starting, with_strides=with_strides, with_device=with_device)
            yield f"{starting.name}{annotation} = {piece[len(head) :]}"
        else:
            yield piece
        starting = None


def _with_input_types(
    code: str, nodes: list[torch.fx.Node], *, with_strides: bool, with_device: bool
) -> str:
    """Give the placeholders their types: in the signature, or below it where that is the user's."""
    inputs = [node for node in nodes if node.op == "placeholder"]
    typed = [
        f"{node.target}{_annotation(node, with_strides=with_strides, with_device=with_device)}"
        for node in inputs
    ]
    plain = f"def forward({', '.join(['self', *(str(node.target) for node in inputs)])}):"
    head, newline, rest = code.partition("\n")
    if head == plain:
        return f"def forward({', '.join(['self', *typed])}):{newline}{rest}"
    below = "".join(f"{each}; " for each in typed if ":" in each)
    return f"{head}{newline}    {below}\n\n{rest}" if below else code


def _annotation(node: torch.fx.Node, *, with_strides: bool, with_device: bool) -> str:
    value = node.meta.get("val")
    if isinstance(value, tuple | list):
        return ""
    text = type_text(value, with_strides=with_strides, with_device=with_device)
    return f': "{text}"' if text else ""


def _sizes(sizes: Iterable[object]) -> str:
    return f"[{', '.join(str(size) for size in sizes)}]"


def _indented(text: str) -> str:
    """Indent all lines but the first, and empty the blank ones, as torch does."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else "" for line in rest)])
