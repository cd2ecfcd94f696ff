"""Messages about operators and tensor types that are not covered: `UnsupportedError`.

unsupported-operator    op, reason="", custom=False, signature="", fake=()
operator-breaks-schema  op, breach
operator-refused-types  op, reason, types=""
fake-kernel-disagrees   op, differs
unsupported-subclass    type, path="", reason=""
unsupported-layout      what, layout
own-generator           (no facts)
script-object           (no facts)
unsupported-collective  op, reason
collective-in-branch    op, how
collective-not-awaited  (no facts)
out-resized             left, right, dim=None
data-replaced           reason
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import DataDependentError, UnsupportedError
from monograph.diagnostics.source_edits.calls import edits_of_data, edits_of_out
from monograph.diagnostics.source_edits.members import edits_of_fake_kernel
from monograph.diagnostics.wording import offer, paste, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.diagnostics.frames import Place


@message("unsupported-operator", UnsupportedError)
def unsupported_operator(
    *,
    op: object,
    reason: object = "",
    custom: bool = False,
    signature: str = "x",
    fake: Sequence[str] = (),
    where: Place | None = None,
) -> Text:
    """Say that nothing tells what the operator returns.

    `op` is "namespace::name", `custom` whether it is a user's, `signature` its arguments; `fake`
    are the lines of a fake kernel that was found by running the operator.
    """
    why = f": {reason}" if str(reason) else ""
    if fake:
        title = "this is what it returned for the example, and for others like it"
        kernel = (f'@torch.library.register_fake("{op}")', *fake)
        edits = () if where is None else edits_of_fake_kernel(where, str(op), title, kernel)
        return Text(
            headline=f"the shape of the result of `{op}` is unknown{why}",
            notes=("a capture runs on shapes alone, so each operator needs a rule for its result",),
            helps=(paste(title, *kernel),),
            edits=edits,
        )
    return Text(
        headline=f"the shape of the result of `{op}` is unknown{why}",
        notes=("a capture runs on shapes alone, so each operator needs a rule for its result",),
        helps=(
            paste(
                "say what it returns, as an empty tensor of that shape",
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
            f"mend the fake kernel, which is registered for `{op}`",
            offer(
                "where a size depends on data, make it",
                "size = torch.library.get_ctx().new_dynamic_size()",
            ),
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
            offer("declare it", f'torch.library.custom_op("{op}", mutates_args=("{name}",))')
            if writes
            else "return a copy, made by Tensor.clone",
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
        helps=("pass a plain tensor, made by Tensor.as_subclass",),
    )


@message("unsupported-layout", UnsupportedError)
def unsupported_layout(*, what: str, layout: str) -> Text:
    """Say that a tensor is sparse, nested, quantised or lazy; `what` is "the input `x`"."""
    if layout == "lazy":
        return Text(
            headline=f"{what} has no sizes yet: the first call of its module gives it some",
            helps=("call the module once before the export",),
        )
    dense = "dequantize" if layout.startswith("quantised") else "to_dense"
    return Text(
        headline=f"{what} is {layout}, and only dense tensors of plain numbers are captured",
        helps=(f"make it dense outside of the model, with Tensor.{dense}",),
    )


@message("out-resized", UnsupportedError)
def out_resized(
    *,
    left: object,
    right: object,
    dim: int | None = None,
    here: str = "",
    where: Place | None = None,
) -> Text:
    """Say that what `out=` is given has another size than the result, which would resize it."""
    of = "the shape of" if dim is None else f"size {dim} of"
    edits = () if where is None else edits_of_out(where)
    return Text(
        headline=f"`{here or 'out='}` resizes what it writes to: {of} that is {quoted(left)}, "
        f"and of the result {quoted(right)}",
        label="writes here",
        notes=("tensors of a program keep their sizes",),
        helps=tuple([each.shown() for each in edits])
        or ("make the result a new tensor, or give `out=` one of its shape",),
        edits=edits,
    )


@message("data-replaced", UnsupportedError)
def data_replaced(*, reason: str, where: Place | None = None) -> Text:
    """Say that a tensor is given other memory through `.data`; `reason` is why that is no write."""
    edits = () if where is None else edits_of_data(where)
    return Text(
        headline=f"this gives a tensor other memory, which no operator does: {reason}",
        label="replaced here",
        helps=tuple([each.shown() for each in edits])
        or ("make a new tensor, and use that from here on",),
        edits=edits,
    )


@message("own-generator", UnsupportedError)
def own_generator() -> Text:
    """Say that data or sizes decide what a `torch.Generator` of the user's draws."""
    return Text(
        headline="this draws from a generator of its own, which the program does not have",
        notes=(
            "what a generator draws that forward seeds is a constant, unless inputs decide",
            "PyTorch's own generator goes on from call to call, and a program draws from it",
        ),
        helps=("leave the generator out, and call torch.manual_seed before the program",),
    )


@message("unsupported-collective", UnsupportedError)
def unsupported_collective(*, op: object, reason: object) -> Text:
    """Say that a collective has no functional form; `op` is its name in c10d."""
    return Text(
        headline=f"the collective `{op}` has no functional form here: {reason}",
        notes=("a program keeps collectives as operators that return what each rank gets",),
        helps=("use all_reduce, all_gather, broadcast or all_to_all, on contiguous tensors",),
    )


@message("collective-in-branch", DataDependentError)
def collective_in_branch(*, op: object, how: object) -> Text:
    """Say that data decide whether a collective is called; `op` is it, `how` says in what."""
    return Text(
        headline=f"data decide whether this rank calls `{op}`: it is in {how}",
        notes=("where the data of two ranks differ, one waits for the other for ever",),
        helps=("call the collective in any case, and choose between results with torch.where",),
    )


@message("collective-not-awaited", UnsupportedError)
def collective_not_awaited() -> Text:
    """Say that nobody waits for an asynchronous collective."""
    return Text(
        headline="nobody waits for this collective before forward returns",
        notes=("what it writes is unknown until then",),
        helps=("wait for the work that it returns, or call it synchronously",),
    )


@message("script-object", UnsupportedError)
def script_object() -> Text:
    """Say that an operator takes an object of a class of TorchScript."""
    return Text(
        headline="this operator takes an object of TorchScript, which no program holds",
        helps=("give the operator tensors and numbers instead",),
    )
