"""Messages about functions that control-flow operators call: branches and the bodies of loops.

branches-disagree     operator, what, result="", left, right     UnsupportedError
loop-carry-changes    operator, what, result="", before, after    UnsupportedError
branch-writes         operator, name="", reason=""               SideEffectError
branch-side-effect    operator, kind, name, reason=""            SideEffectError
branch-copies         reason                                     UnsupportedError
branches-multiply     count, kind="apart"                        UnsupportedError
loop-raises           error, loop="while"                        DataDependentError
loop-leaves           how, loop="while"                          DataDependentError
list-grown            use                                        UnsupportedError
write-after-branch    kind="tensor", name=""                     SideEffectError
branch-returns        after="if", lies=False                     SideEffectError
branch-decides        what                                       DataDependentError
branch-value-outside  tensor="", operator=""                     UnsupportedError
operator-arguments    operator, reason, help=""                  UnsupportedError
"""

from __future__ import annotations

from traceback import format_exception_only

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import (
    DataDependentError,
    SideEffectError,
    UnsupportedError,
)
from monograph.diagnostics.wording import as_advice


@message("branches-disagree", UnsupportedError)
def branches_disagree(
    *, operator: str, what: str, left: object, right: object, result: str = ""
) -> Text:
    """Say that the two sides of a branch do not return the same kind of thing.

    `what` is structure, dtype, rank, device, layout, attributes or value; `result` is which result,
    "" for all; `left` is the true side's, `right` the false side's.
    """
    of = f"the {what} of {result}" if result else f"the {what} of what they return"
    help_ = {
        "structure": "return the same structure from both: as many results, nested in the same way",
        "dtype": "convert one to the dtype of the other, with Tensor.to",
        "rank": "give both the same number of dimensions, with unsqueeze or reshape",
        "device": "move one to the device of the other, with Tensor.to",
        "layout": "make both contiguous, with Tensor.contiguous",
        "attributes": "set the same attributes on both sides, before the `if` or after it",
    }.get(what, "make both sides tensors, or containers of them with the same keys and length")
    return Text(
        headline=f"the branches of `{operator}` differ in {of}: {left} and {right}",
        label="chooses between them",
        helps=(help_,),
    )


@message("loop-carry-changes", UnsupportedError)
def loop_carry_changes(
    *, operator: str, what: str, before: object, after: object, result: str = ""
) -> Text:
    """Say that one step of a loop makes another kind of value than the one it was given.

    `what` is structure, dtype, shape, device or layout; `result` is which carried value.
    """
    of = result or "what is carried from step to step"
    help_ = {
        "structure": "return exactly what is carried, in the same order and nesting",
        "dtype": "convert what the step returns, or what it begins with, by Tensor.to",
        "shape": "keep the shape from step to step: write into a tensor of the final size",
    }.get(what, "make what the step returns lie like what it begins with, by Tensor.contiguous")
    return Text(
        headline=f"a step of `{operator}` changes the {what} of {of}: from {before} to {after}",
        label="this step",
        notes=("the next step is given what this one returns, so both must be of one kind",),
        helps=(help_,),
    )


@message("branch-writes", SideEffectError)
def branch_writes(*, operator: str, name: str = "", reason: str = "") -> Text:
    """Say that a function given to an operator changes a tensor from outside in place.

    `name` is the tensor, where it has one; `reason` says why that cannot be carried out of it.
    """
    what = f"`{name}`" if name else "a tensor that was made outside of it"
    return Text(
        headline=f"this function, which `{operator}` runs, changes {what} in place",
        label="changed here",
        notes=(reason,) if reason else (),
        helps=(
            "return the new value, and write it outside, with Tensor.copy_",
            "or work on a copy, made by Tensor.clone",
        ),
    )


@message("branch-side-effect", SideEffectError)
def branch_side_effect(*, operator: str, kind: str, name: str, reason: str = "") -> Text:
    """Say that a branch changes an object from outside of it, which both would do.

    `reason` is why what both sides of an `if` do to it cannot be one.
    """
    if reason:
        what = _KINDS.get(kind, kind)
        return Text(
            headline=f"the sides of an `{operator}` on data leave {what} {name} unlike: {reason}",
            label="changed here, on one side",
            helps=("leave it with the same structure on both sides, or change it after the `if`",),
        )
    return Text(
        headline=f"this function, which `{operator}` runs, changes {_KINDS.get(kind, kind)} {name}",
        label="changed here",
        notes=("while it is captured, every branch runs once, whichever is taken later",),
        helps=("return the value instead, and keep it after the call",),
    )


@message("loop-raises", DataDependentError)
def loop_raises(*, error: BaseException, loop: str = "while") -> Text:
    """Say that a round of a loop that is recorded as one ends by an exception."""
    return Text(
        headline=f"a round of {_LOOPS[loop]} raises an exception, whatever the data are: "
        + "".join(format_exception_only(error)).strip(),
        label="decides whether another round comes",
    )


@message("loop-leaves", DataDependentError)
def loop_leaves(*, how: str, loop: str = "while") -> Text:
    """Say that a round of a loop that is recorded as one leaves it otherwise than at its test.

    `how` is returned, yielded, left (by `break`), or elsewhere: for a round of an outer loop.
    """
    ways = {"returned": "returns", "yielded": "yields", "left": "may leave the loop"}
    way = ways.get(how, "goes on with an outer loop")
    advice = "keep the result in a variable, leave the loop by `break`, and return after it"
    if loop == "for":
        advice = "let all rounds come, and keep with torch.where what is there once it is done"
    return Text(
        headline=f"a round of {_LOOPS[loop]} ends otherwise than at its test: it {way}",
        label="decides whether another round comes",
        helps=(advice,),
    )


@message("list-grown", UnsupportedError)
def list_grown(*, use: str) -> Text:
    """Say that a list that grew in a loop is used in a way that needs its length as a number.

    `use` is what is done with it: `setitem()`, `one of its items`.
    """
    return Text(
        headline=f"a list that grew in a `for` over a symbolic number of values is used by {use}",
        label="used here",
        notes=("what the rounds appended is one stacked tensor, with as many slices as rounds",),
        helps=("stack or concatenate the list, and go on with that",),
    )


@message("branch-copies", UnsupportedError)
def branch_copies(*, reason: str) -> Text:
    """Say that both sides of an `if` on data cannot be run from one state: it cannot be copied."""
    return Text(
        headline=f"both sides of this `if` on data start from one state, and {reason}",
        label="chooses between them",
        helps=("make a list of what is iterated over before the `if`",),
    )


@message("branches-multiply", UnsupportedError)
def branches_multiply(*, count: int, kind: str = "apart") -> Text:
    """Say that an export records more branches than anybody wants to have.

    `count` is how many conditions may keep their ways apart at once; of "all", of branches; of
    "within", how many may be around one.
    """
    if kind != "apart":
        many = f"make more than {count} branches"
        many = many if kind == "all" else f"lie in each other, more than {count} deep"
        return Text(
            headline=f"the `if`s on data of this model {many}",
            label="the next one",
            helps=("make the loop around it one over a size or over data, or its body shorter",),
        )
    return Text(
        headline=f"nothing can stand for the sides of more than {count} `if`s on data at once",
        label="the next one",
        notes=(
            "they differ in what is no tensor and no number: a text, None, a structure",
            "what follows is recorded once for each side, until that is read no more",
        ),
        helps=("choose between tensors: a tensor or number on both sides, or torch.where",),
    )


@message("write-after-branch", SideEffectError)
def write_after_branch(*, kind: str = "tensor", name: str = "") -> Text:
    """Say that an object is changed that is, by a condition on data, one with another.

    `kind` is tensor, or the class of a container; `name` is the attribute that is set, if one is.
    """
    help_ = "work on a copy, made by Tensor.clone, in both branches or after the `if`"
    if name:
        help_ = f"set `.{name}` before the `if`, on what both branches begin with"
    elif kind != "tensor":
        help_ = f"work on a copy, another {kind}, in both branches or after the `if`"
    return Text(
        headline=f"this changes a {kind} that is one with another, or not, as a condition decides",
        label="changed here",
        notes=("whether the other changes too depends on values, which a graph cannot say",),
        helps=(help_,),
    )


@message("branch-returns", SideEffectError)
def branch_returns(*, after: str = "if", lies: bool = False) -> Text:
    """Say that callers would get two tensors where eager code has one memory.

    `after` is the word that the statement begins with: `if`, `for`, `while`, or `loop`. `lies`: it
    is how the tensor lies in memory that callers would see.
    """
    if lies:
        word = "loop" if after == "loop" else f"`{after}`"
        return Text(
            headline=f"callers get the result of this {word}, whose strides a graph cannot keep",
            label="gives it",
            notes=("on one way it has gaps in memory, and a graph returns a copy without any",),
            helps=("return a contiguous tensor, by Tensor.contiguous",),
        )
    notes = ("callers who change one of them would not see it in the other",)
    if after == "loop":
        return Text(
            headline="this loop leaves a tensor from before as it was, if no round comes; "
            "callers would get a copy",
            notes=notes,
            helps=("return a copy of it, made by Tensor.clone",),
        )
    if after in ("for", "while"):
        return Text(
            headline=f"this `{after}` leaves a part of a tensor that callers see; "
            "it would be a copy",
            label="the last round gives it",
            notes=notes,
            helps=("return a copy of it, made by Tensor.clone",),
        )
    return Text(
        headline="on one side of this `if` on data, two tensors that callers see are one",
        label="makes them one, or not",
        notes=(
            "a side writes to the tensor, or takes a part of it: a graph returns a copy",
            *notes,
        ),
        helps=("return a copy, by Tensor.clone, on the side that gives a tensor another name",),
    )


@message("branch-decides", DataDependentError)
def branch_decides(*, what: str) -> Text:
    """Say that code asks about Python's objects what depends on which way an `if` on data went.

    `what` is the question, in words.
    """
    return Text(
        headline=f"this asks {what}, which an `if` on data decides",
        label="asked here",
        notes=("the answer would be an object of Python's, which a graph does not have",),
        helps=("ask before the `if`, or keep the answer in a variable that both branches set",),
    )


_LOOPS = {
    "for": "this `for` over a symbolic number of values",
    "while": "this `while` on data",
}


_KINDS = {
    "attribute": "the attribute",
    "cached": "the cache of",
    "cell": "the variable",
    "contents": "the content of",
    "context": "the context variable",
    "global": "the global",
    "hidden": "an iterator",
    "object": "an object",
    "switch": "a mode of PyTorch (gradients, autocast) that was entered outside of it",
}


@message("branch-value-outside", UnsupportedError)
def branch_value_outside(*, tensor: str = "", operator: str = "") -> Text:
    """Say that a value made by one branch is used after it, although it was not returned."""
    value = f"`{tensor}`" if tensor else "this value"
    source = f"`{operator}`" if operator else "a control-flow operator"
    return Text(
        headline=f"{value} was made in a function that {source} runs, and exists only in there",
        label="used here",
        helps=("return it from the function, and take it from the operator's result",),
    )


@message("operator-arguments", UnsupportedError)
def operator_arguments(*, operator: str, reason: str, help: str = "") -> Text:  # noqa: A002 - a fact's name
    """Say that a control-flow operator is given what it cannot take."""
    return Text(
        headline=f"`{operator}` cannot take these arguments: {reason}",
        helps=(as_advice(help),) if help else (),
    )
