"""Messages about operators and tensor types that are not covered. All are `UnsupportedError`.

unsupported-operator    op, reason="", custom=False, signature="", fake=()
operator-breaks-schema  op, breach
operator-refused-types  op, reason, types=""
fake-kernel-disagrees   op, differs
unsupported-subclass    type, path="", reason=""
unsupported-layout      what, layout
own-generator           (no facts)
script-object           (no facts)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import UnsupportedError
from monograph.diagnostics.wording import paste

if TYPE_CHECKING:
    from collections.abc import Sequence


@message("unsupported-operator", UnsupportedError)
def unsupported_operator(
    *,
    op: object,
    reason: object = "",
    custom: bool = False,
    signature: str = "x",
    fake: Sequence[str] = (),
) -> Text:
    """Say that nothing tells what the operator returns.

    `op` is "namespace::name", `custom` whether it is a user's, `signature` its arguments; `fake`
    are the lines of a fake kernel that was found by running the operator.
    """
    why = f": {reason}" if str(reason) else ""
    if fake:
        return Text(
            headline=f"the shape of the result of `{op}` is unknown{why}",
            notes=("a capture runs on shapes alone, so each operator needs a rule for its result",),
            helps=(
                paste(
                    "this is what it returned for the example, and for others like it:",
                    f'@torch.library.register_fake("{op}")',
                    *fake,
                ),
            ),
        )
    return Text(
        headline=f"the shape of the result of `{op}` is unknown{why}",
        notes=("a capture runs on shapes alone, so each operator needs a rule for its result",),
        helps=(
            paste(
                "say what it returns, as an empty tensor of that shape:",
                f'@torch.library.register_fake("{op}")',
                f"def fake({signature}):",
                f"    return torch.empty_like({signature.partition(',')[0]})",
            ),
        )
        if custom
        else ("write it with operators that are covered, or as a custom operator",),
    )


@message("fake-kernel-disagrees", UnsupportedError)
def fake_kernel_disagrees(*, op: object, differs: str) -> Text:
    """Say that a custom operator returns something else than its fake kernel says.

    `differs` is "float32[4] where the operator returns float32[3]".
    """
    return Text(
        headline=f"the fake kernel of `{op}` promises {differs}",
        notes=("a capture believes the fake kernel; the operator itself ran on the example",),
        helps=(
            f'mend the function that is registered by @torch.library.register_fake("{op}")',
            "where a size depends on data, make it with torch.library.get_ctx().new_dynamic_size()",
        ),
    )


@message("operator-breaks-schema", UnsupportedError)
def operator_breaks_schema(*, op: object, breach: str) -> Text:
    """Say that a custom operator does to its arguments what its schema does not say.

    `breach` is "writes to its argument `x`", or "returns its argument `x`, or a view of it".
    """
    writes = breach.startswith("writes")
    name = breach.partition("`")[2].partition("`")[0].partition("[")[0]
    return Text(
        headline=f"`{op}` {breach}, which its schema does not say",
        notes=("a program is free to reuse or to move what an operator does not claim",),
        helps=(
            f'declare it: @torch.library.custom_op("{op}", mutates_args=("{name}",))'
            if writes
            else "return a copy: .clone()",
        ),
    )


@message("operator-refused-types", UnsupportedError)
def operator_refused_types(*, op: object, reason: object, types: object = "") -> Text:
    """Say that the operator itself refuses these arguments; `reason` is in its own words."""
    words = str(reason).strip().split("\n")[0].rstrip(".")
    return Text(
        headline=f"`{op}` refuses its arguments: {words}",
        notes=(f"it was given {types}",) if str(types) else (),
    )


@message("unsupported-subclass", UnsupportedError)
def unsupported_subclass(*, type: object, path: str = "", reason: object = "") -> Text:  # noqa: A002
    """Say that a tensor is of a subclass that a capture does not follow; `path` says which."""
    what = f"`{path}` is" if path else "this tensor is"
    why = f": {reason}" if str(reason) else ""
    return Text(
        headline=f"{what} a `{type}`, a tensor subclass that is not captured{why}",
        helps=("pass a plain tensor: x.as_subclass(torch.Tensor)",),
    )


@message("unsupported-layout", UnsupportedError)
def unsupported_layout(*, what: str, layout: str) -> Text:
    """Say that a tensor is sparse, nested or quantised; `what` is "the input `x`"."""
    dense = "x.dequantize()" if layout.startswith("quantised") else "x.to_dense()"
    return Text(
        headline=f"{what} is {layout}, and only dense tensors of plain numbers are captured",
        helps=(f"make it dense outside of the model: {dense}",),
    )


@message("own-generator", UnsupportedError)
def own_generator() -> Text:
    """Say that an operator draws from a `torch.Generator` that user code gives it."""
    return Text(
        headline="this draws from a generator of its own, which the program does not have",
        notes=("PyTorch's own generator goes on from call to call, and a program draws from it",),
        helps=("leave `generator=` out, and call torch.manual_seed before you call the program",),
    )


@message("script-object", UnsupportedError)
def script_object() -> Text:
    """Say that an operator takes an object of a class of TorchScript."""
    return Text(
        headline="this operator takes an object of TorchScript, which no program holds",
        helps=("give the operator tensors and numbers instead",),
    )
