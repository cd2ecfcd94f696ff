"""Serialised graph signatures: what inputs and outputs stand for, in a file and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.archive.errors import Refused
from monograph.archive.schema.arguments import PLAIN, SIMPLE
from monograph.archive.schema.json_fields import (
    boolean,
    identifier,
    listed,
    mapping,
    only_key,
    qualified_name,
    small,
    text,
)
from monograph.archive.schema.values import float_json, float_of
from monograph.program import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.archive.schema.values import Json
    from monograph.program import ArgumentSpec

SYMBOLIC: Final = {
    SymIntArgument: "as_sym_int",
    SymFloatArgument: "as_sym_float",
    SymBoolArgument: "as_sym_bool",
}
SYMBOLIC_OF: Final = {tag: kind for kind, tag in SYMBOLIC.items()}
CONSTANTS: Final = {bool: "as_bool", int: "as_int", float: "as_float", str: "as_string"}

STATE_INPUTS: Final = {
    InputKind.PARAMETER: ("parameter", "parameter_name"),
    InputKind.CONSTANT_TENSOR: ("tensor_constant", "tensor_constant_name"),
    InputKind.BUFFER: ("buffer", "buffer_name"),
}
TARGETED_OUTPUTS: Final = {
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.GRADIENT_TO_PARAMETER: ("gradient_to_parameter", "parameter_name"),
    OutputKind.GRADIENT_TO_USER_INPUT: ("gradient_to_user_input", "user_input_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
}
BARE_OUTPUTS: Final = {
    OutputKind.LOSS_OUTPUT: ("loss_output", TensorArgument),
    OutputKind.TOKEN: ("token", TokenArgument),
}
INPUT_OF: Final = {tag: (kind, field) for kind, (tag, field) in STATE_INPUTS.items()}
OUTPUT_OF: Final = {tag: (kind, field) for kind, (tag, field) in TARGETED_OUTPUTS.items()}


# ---------------------------------------------------------------------------------------- writing
def signature_json(signature: ExportGraphSignature) -> Json:
    """A signature.

    Raises: Refused.
    """
    return {
        "input_specs": [_input(spec) for spec in signature.input_specs],
        "output_specs": [_output(spec) for spec in signature.output_specs],
    }


def argument_json(arg: ArgumentSpec) -> Json:
    """What a spec names.

    Raises: Refused.
    """
    if isinstance(arg, TensorArgument | TokenArgument):
        return {"as_tensor": {"name": arg.name}}
    tag = SYMBOLIC.get(type(arg))  # pyright: ignore[reportArgumentType]
    if isinstance(arg, SymBoolArgument):
        tag = SYMBOLIC[SymIntArgument]  # torch.export knows no other; the graph says what it is
    if tag is not None:
        return {tag: {"as_name": arg.name}}
    if isinstance(arg, ConstantArgument):
        write = PLAIN.get(type(arg.value))
        # What the format has no place for is in our own record.
        return {"as_none": True} if write is None else write(arg.value)
    raise Refused(f"`{arg.name}` is a {type(arg).__name__}, which no file can hold")


def _input(spec: InputSpec) -> Json:
    arg = {"name": spec.arg.name}
    found = STATE_INPUTS.get(spec.kind)
    if found is not None:
        tag, field = found
        written: Json = {"arg": arg, field: spec.target}
        if spec.kind is InputKind.BUFFER:
            written["persistent"] = bool(spec.persistent)
        return {tag: written}
    if spec.kind is InputKind.TOKEN:
        return {"token": {"arg": arg}}
    if spec.kind is not InputKind.USER_INPUT:
        raise Refused(f"`{spec.arg.name}` is a script object, which only pickle can hold")
    if isinstance(spec.arg, ConstantArgument):
        return {"constant_input": {"name": spec.arg.name, "value": _constant(spec.arg.value)}}
    return {"user_input": {"arg": argument_json(spec.arg)}}


def _constant(value: Any) -> Json:
    """A constant; what the format has no place for is in the contract, and None here."""
    tag = CONSTANTS.get(type(value))
    if tag is None:
        return {"as_none": True}
    if tag == "as_int":
        return {tag: small(value)}
    return {tag: float_json(value) if tag == "as_float" else value}


def _output(spec: OutputSpec) -> Json:
    arg = {"name": spec.arg.name}
    found = TARGETED_OUTPUTS.get(spec.kind)
    if found is not None:
        tag, field = found
        return {tag: {"arg": arg, field: spec.target}}
    if spec.kind in BARE_OUTPUTS:
        return {BARE_OUTPUTS[spec.kind][0]: {"arg": arg}}
    return {"user_output": {"arg": argument_json(spec.arg)}}


# ---------------------------------------------------------------------------------------- reading
def read_signature(written: Any) -> ExportGraphSignature:
    """A signature.

    Raises: Refused.
    """
    specs = mapping(written)
    return ExportGraphSignature(
        [_read_input(*only_key(each)) for each in listed(specs["input_specs"])],
        [_read_output(*only_key(each)) for each in listed(specs["output_specs"])],
    )


def read_argument(written: Any) -> ArgumentSpec:
    """What a spec names.

    Raises: Refused.
    """
    tag, inner = only_key(written)
    if tag == "as_tensor":
        return TensorArgument(identifier(mapping(inner)["name"]))
    kind = SYMBOLIC_OF.get(tag)
    if kind is not None:
        choice, name = only_key(inner)
        if choice == "as_name":
            return kind(identifier(name))
        return ConstantArgument("", SIMPLE[choice](name))
    read = SIMPLE.get(tag)
    if read is None:
        raise Refused(f"an output is {tag[:40]!r}")
    return ConstantArgument("", read(inner))


def _name(fields: Mapping[str, Any]) -> str:
    return identifier(mapping(fields["arg"])["name"])


def _read_input(tag: str, inner: Any) -> InputSpec:
    fields = mapping(inner)
    found = INPUT_OF.get(tag)
    if found is not None:
        kind, field = found
        target = qualified_name(fields[field])
        persistent = boolean(fields["persistent"]) if tag == "buffer" else None
        return InputSpec(kind, TensorArgument(_name(fields)), target, persistent)
    if tag == "user_input":
        return InputSpec(InputKind.USER_INPUT, read_argument(fields["arg"]), None)
    if tag == "constant_input":
        value = _read_constant(*only_key(fields["value"]))
        argument = ConstantArgument(identifier(fields["name"]), value)
        return InputSpec(InputKind.USER_INPUT, argument, None)
    if tag == "token":
        return InputSpec(InputKind.TOKEN, TokenArgument(_name(fields)), None)
    if tag == "custom_obj":
        raise Refused("it holds a script object, which only pickle can read", "archive-unsafe")
    raise Refused(f"an input is {tag[:40]!r}")


def _read_constant(tag: str, inner: Any) -> Any:
    if tag == "as_none":
        return None
    if tag == "as_float":
        return float_of(inner)
    if tag not in CONSTANTS.values():
        raise Refused(f"a constant is {tag[:40]!r}")
    return SIMPLE[tag](inner)


def _read_output(tag: str, inner: Any) -> OutputSpec:
    fields = mapping(inner)
    found = OUTPUT_OF.get(tag)
    if found is not None:
        kind, field = found
        read = identifier if field == "user_input_name" else qualified_name
        return OutputSpec(kind, TensorArgument(_name(fields)), read(text(fields[field])))
    if tag == "user_output":
        return OutputSpec(OutputKind.USER_OUTPUT, read_argument(fields["arg"]), None)
    for kind, (bare, argument) in BARE_OUTPUTS.items():
        if tag == bare:
            return OutputSpec(kind, argument(_name(fields)), None)
    raise Refused(f"an output is {tag[:40]!r}")


__all__ = ["argument_json", "read_argument", "read_signature", "signature_json"]
