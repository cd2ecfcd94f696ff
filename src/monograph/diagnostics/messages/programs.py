"""The messages of a program that is used as if it were the module it came from.

program-called    (nothing)      UnsupportedError
mode-is-fixed     call: str      UnsupportedError
program-not-spelt what: str      UnsupportedError
program-pickled   what: str      UnsupportedError
dtype-is-fixed    dtype, reason  UnsupportedError
state-converted   what: str      UnsupportedError
state-frozen      what: str      ContractError
module-call-lost  path, reason   UnsupportedError
entry-not-found   entry, reason  SpecError
entries-differ    tensor, one, other   SpecError
not-split         reason: str    UnsupportedError
"""

from __future__ import annotations

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import ContractError, SpecError, UnsupportedError
from monograph.diagnostics.wording import offer


@message("program-called", UnsupportedError)
def program_called() -> Text:
    """Say that a program is not called itself."""
    return Text(
        headline="an ExportedProgram is a description and cannot be called itself",
        helps=(offer("call the module it makes", "program.module()(...)"),),
    )


@message("mode-is-fixed", UnsupportedError)
def mode_is_fixed(*, call: str) -> Text:
    """Say that train and eval were decided when the program was captured."""
    return Text(
        headline=f"`{call}` changes nothing: the program was captured in one mode and stays in it",
        helps=(
            offer(
                "switch the original module and export it again",
                f"model.{call}; export(model, ...)",
            ),
        ),
    )


@message("program-pickled", UnsupportedError)
def program_pickled(*, what: str) -> Text:
    """Say that a program, or its module, is not pickled."""
    return Text(
        headline=f"{what} is not pickled: reading a pickle runs code",
        helps=(
            offer(
                "write it to a file",
                "monograph.save(program, 'model.pt2'); monograph.load('model.pt2')",
            ),
            offer("to keep the weights alone", "torch.save(program.state_dict, 'weights.pt')"),
        ),
    )


@message("dtype-is-fixed", UnsupportedError)
def dtype_is_fixed(*, dtype: object, reason: str) -> Text:
    """Say that a program may compute otherwise than its module would in another dtype."""
    return Text(
        headline=f"the program cannot tell what its module does in {dtype}: {reason}",
        helps=(
            offer("convert the module and export it again", f"export(model.to({dtype}), ...)"),
            offer("to convert every value, whatever forward wants", f"passes.to_dtype({dtype})"),
        ),
    )


@message("state-converted", UnsupportedError)
def state_converted(*, what: str) -> Text:
    """Say that the state of a program's module cannot be changed without the graph."""
    return Text(
        headline=f"{what}, and the graph and its contract would stay as they are",
        helps=(
            offer("convert the program", "program.to(...).module()"),
            offer("or the original module, and export it again", "export(model.to(...), ...)"),
        ),
    )


@message("state-frozen", ContractError)
def state_frozen(*, what: str) -> Text:
    """Say that what a frozen module computed once would be of other values now."""
    return Text(
        headline=f"{what}, and what depends on it was computed once",
        helps=(
            offer("freeze a module anew", "program.module(freeze=True)"),
            offer("or take the one that reads its parameters in every call", "program.module()"),
        ),
    )


@message("module-call-lost", UnsupportedError)
def module_call_lost(*, path: str, reason: str) -> Text:
    """Say that the call of a module cannot keep the arguments and the result it had."""
    return Text(
        headline=f"the call of `{path}` cannot keep its arguments and result: {reason}",
        helps=("export again without its name in `preserve_module_call_signature`",),
    )


@message("program-not-spelt", UnsupportedError)
def program_not_spelt(*, what: str) -> Text:
    """Say that a program has no text as a Python file; `what` cannot be written down."""
    return Text(
        headline=f"the program cannot be written as Python: it needs {what}",
        helps=(
            offer("read it", "print(program)"),
            offer("or run it", "program.module()"),
        ),
    )


@message("entry-not-found", SpecError)
def entry_not_found(*, entry: str, reason: str) -> Text:
    """Say that what is to be an entry of a program is no method of the model."""
    return Text(
        headline=f"there is no entry `{entry}`: {reason}",
        helps=(offer("say what is called", 'call(x).of("encode")'),),
    )


@message("entries-differ", SpecError)
def entries_differ(*, tensor: str, one: str, other: str) -> Text:
    """Say that programs which are to share their state do not."""
    return Text(
        headline=f"`{tensor}` is one tensor in the entry `{one}` and another in `{other}`",
        notes=("the entries of a program share their parameters and buffers",),
        helps=(offer("load the programs one by one", f'load(file, model="{one}")'),),
    )


@message("not-split", UnsupportedError)
def not_split(*, reason: str) -> Text:
    """Say why a program cannot be taken apart into as many stages."""
    return Text(
        headline=f"the program is not split into these stages: {reason}",
        notes=("a stage begins and ends between modules, and memory that is written to is in one",),
        helps=(offer("ask for fewer stages", "program.split(2)"),),
    )
