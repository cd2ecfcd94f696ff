"""The graph signature: what inputs and outputs stand for, under the names of torch.export.

Law: `input_specs` lists the placeholders in order, `output_specs` the values of the output node in
order; a name in either is a node name. The classes compare and print as torch's own do, field for
field; `mutated_in_place` is ours and says what a graph that is not functional writes to.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING

from monograph.host.fx_modules import is_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from torch.fx import Node

Constant = int | float | bool | str | None


@dataclass(slots=True)
class TensorArgument:
    """A tensor, by node name."""

    name: str


@dataclass(slots=True)
class TokenArgument:
    """An ordering token, by node name."""

    name: str


@dataclass(slots=True)
class SymIntArgument:
    """An integer that differs between calls, by node name."""

    name: str


@dataclass(slots=True)
class SymFloatArgument:
    """A float that differs between calls, by node name."""

    name: str


@dataclass(slots=True)
class SymBoolArgument:
    """A truth value that differs between calls, by node name."""

    name: str


@dataclass(slots=True)
class CustomObjArgument:
    """A script object, by node name and qualified class name."""

    name: str
    class_fqn: str
    fake_val: object = None


@dataclass(slots=True)
class ConstantArgument:
    """A value that is the same in every call; outputs of this kind have the empty name."""

    name: str
    value: Constant


ArgumentSpec = (
    TensorArgument
    | SymIntArgument
    | SymFloatArgument
    | SymBoolArgument
    | ConstantArgument
    | CustomObjArgument
    | TokenArgument
)


class InputKind(Enum):
    """What a placeholder receives."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """Where an output value goes."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclass(slots=True)
class InputSpec:
    """One placeholder: its kind, its name, and the qualified name of the state it stands for."""

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise ValueError(f"the buffer {self.arg.name!r} needs its `persistent` flag")

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass(slots=True)
class OutputSpec:
    """One output value: its kind, its name, and what it is written to."""

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclass(slots=True)
class ExportBackwardSignature:
    """Which outputs of a joint graph are gradients, and of what."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass(slots=True)
class ExportGraphSignature:
    """Inputs and outputs of a graph, in order, and what it mutates in place.

    `mutated_in_place` maps the placeholder that is written to onto its qualified name, or onto the
    name of the user input; it is empty for a functional graph, whose mutations are outputs.
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]
    mutated_in_place: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def parameters(self) -> tuple[str, ...]:
        """Qualified names of the parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Qualified names of the buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """Qualified names of the buffers that the state dict leaves out."""
        return tuple(
            spec.target
            for spec in self.input_specs
            if spec.kind is InputKind.BUFFER
            and spec.persistent is False
            and spec.target is not None
        )

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """Names of the tensors that are constants of the program."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self) -> tuple[str, ...]:
        """Names of the script objects that are constants of the program."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self) -> tuple[Constant, ...]:
        """Node name of each flat user input; the value itself where it is a constant."""
        return tuple(
            _name_or_value(spec.arg)
            for spec in self.input_specs
            if spec.kind is InputKind.USER_INPUT
        )

    @property
    def user_outputs(self) -> tuple[Constant, ...]:
        """Node name of each flat output; the value itself where it is a constant."""
        kinds = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        return tuple(_name_or_value(spec.arg) for spec in self.output_specs if spec.kind in kinds)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Placeholder name to qualified name, of the parameters."""
        return _names(self.input_specs, InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Placeholder name to qualified name, of the buffers."""
        return _names(self.input_specs, InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Placeholder name to constant name, of the tensor constants."""
        return _names(self.input_specs, InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        """Placeholder name to constant name, of the script objects."""
        return _names(self.input_specs, InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Output name to the buffer it is written to; only in a functional graph."""
        return _names(self.output_specs, OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        """Output name to the parameter it is written to; only in a functional graph."""
        return _names(self.output_specs, OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Output name to the user input it is written to; only in a functional graph."""
        return _names(self.output_specs, OutputKind.USER_INPUT_MUTATION)

    @property
    def input_tokens(self) -> tuple[str, ...]:
        """Names of the placeholders that are tokens."""
        return tuple(spec.arg.name for spec in self.input_specs if spec.kind is InputKind.TOKEN)

    @property
    def output_tokens(self) -> tuple[str, ...]:
        """Names of the outputs that are tokens."""
        return tuple(spec.arg.name for spec in self.output_specs if spec.kind is OutputKind.TOKEN)

    @property
    def assertion_dep_token(self) -> Mapping[int, str] | None:
        """Always None; kept because torch.export has it."""
        return None

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """Which outputs are gradients, or None for a graph without a loss."""
        losses = [
            spec.arg.name for spec in self.output_specs if spec.kind is OutputKind.LOSS_OUTPUT
        ]
        if not losses:
            return None
        return ExportBackwardSignature(
            gradients_to_parameters=dict(
                _names(self.output_specs, OutputKind.GRADIENT_TO_PARAMETER)
            ),
            gradients_to_user_inputs=dict(
                _names(self.output_specs, OutputKind.GRADIENT_TO_USER_INPUT)
            ),
            loss_output=losses[0],
        )

    def replace_all_uses(self, old: str, new: str) -> None:
        """Rename a node wherever the signature names it."""
        for spec in (*self.input_specs, *self.output_specs):
            if spec.arg.name == old and not isinstance(spec.arg, ConstantArgument):
                spec.arg.name = new
        if old in self.mutated_in_place:
            self.mutated_in_place = {
                new if name == old else name: target
                for name, target in self.mutated_in_place.items()
            }

    def get_replace_hook(self, replace_inputs: bool = False) -> Callable[[Node, str, Node], None]:  # noqa: FBT001, FBT002  (torch's signature)
        """Return a hook for `GraphModule` that keeps the signature in step with renamed nodes."""

        def follow(old: Node, new: str, user: Node) -> None:
            if user.op == "output":
                self.replace_all_uses(old.name, new)
            if replace_inputs and old.op == "placeholder":
                self.replace_all_uses(old.name, new)

        return follow

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(
            spec.target
            for spec in self.input_specs
            if spec.kind is kind and spec.target is not None
        )

    def __str__(self) -> str:
        inputs = "\n".join(str(spec) for spec in self.input_specs)
        outputs = "\n".join(str(spec) for spec in self.output_specs)
        text = f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"
        if not self.mutated_in_place:
            return text
        mutated = "\n".join(
            name if name == target else f"{name}: target='{target}'"
            for name, target in self.mutated_in_place.items()
        )
        return f"{text}\n# mutated in place\n{mutated}\n"


def _name_or_value(arg: ArgumentSpec) -> Constant:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


def _names(
    specs: Iterable[InputSpec] | Iterable[OutputSpec], kind: InputKind | OutputKind
) -> Mapping[str, str]:
    found = {
        spec.arg.name: spec.target
        for spec in specs
        if spec.kind is kind and spec.target is not None
    }
    return MappingProxyType(found)


# --- how the arguments of a call are named --------------------------------------------------------

USED_BY_CODE = frozenset(
    {
        *("self", "torch", "device", "inf", "nan", "NoneType", "pytree", "fx_pytree"),
        *("built_result", "flat_inputs", "found_inputs", "found_objects", "kept_result"),
    }
)
"""Names that the generated code means something by, so that no parameter may have them."""


@dataclass(frozen=True, slots=True)
class CallNames:
    """How the example's arguments are named, and which of them go by position or by name.

    `positional` names `args`, of which the first `n_position_only` cannot be given by name.
    `keywords` are the keys of `kwargs` in the example's order; those in `either_way`, which are the
    parameters that follow the positional ones, may be given by position too, in that order. Those
    that the signature does not name end up in its `**more`, whose order the model sees: `gathered`
    are these, if there are several, under the name that `gatherer` is.
    """

    positional: tuple[str, ...]
    n_position_only: int
    keywords: tuple[str, ...]
    either_way: tuple[str, ...] = ()
    gathered: tuple[str, ...] = ()
    gatherer: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether a Python signature can be written with these names."""
        names = (*self.positional, *self._named(), *filter(None, [self.gatherer]))
        return len({*names, *USED_BY_CODE}) == len(names) + len(USED_BY_CODE) and all(
            is_name(name) for name in (*names, *self.either_way)
        )

    def parameters(self) -> str:
        """The parameters of a function called like the example, without `self`."""
        parts = list(self.positional)
        if self.n_position_only:
            parts.insert(self.n_position_only, "/")
        parts += self.either_way
        named = [name for name in self._named() if name not in self.either_way]
        parts += ["*", *named] if named else []
        return ", ".join([*parts, f"**{self.gatherer}"] if self.gathered else parts)

    def arguments(self) -> str:
        """The expressions that gather the parameters into `args, kwargs`."""
        args = ", ".join(self.positional) + ("," if len(self.positional) == 1 else "")
        kwargs = [f"{name!r}: {name}" for name in self._named()]
        kwargs += [f"**{self.gatherer}"] if self.gathered else []
        return f"({args}), {{{', '.join(kwargs)}}}"

    def _named(self) -> list[str]:
        """The keywords that have a parameter of their own."""
        return [name for name in self.keywords if name not in self.gathered]


def call_names(
    signature: inspect.Signature | None, n_args: int, keywords: Sequence[str]
) -> CallNames:
    """Name `n_args` positional arguments and the keywords after the parameters of `forward`.

    >>> import inspect
    >>> def forward(x, *rest, mask=None): ...
    >>> call_names(inspect.signature(forward), 3, ["mask"]).parameters()
    'x, rest_0, rest_1, /, *, mask'
    """
    parameters = [] if signature is None else list(signature.parameters.values())
    by_position = [each for each in parameters if each.kind in _BY_POSITION]
    names = [each.name for each in by_position[:n_args]]
    rest = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), "args")
    n_rest = n_args - len(names)
    names += [f"{rest}_{index}" for index in range(n_rest)]
    n_position_only = n_args
    if not n_rest:
        kinds = [each.kind for each in by_position[:n_args]]
        n_position_only = kinds.count(inspect.Parameter.POSITIONAL_ONLY)
    either_way: list[str] = []
    for each in by_position[n_args:]:
        if each.kind is each.POSITIONAL_ONLY or each.name not in keywords:
            break
        either_way.append(each.name)
    positional = tuple(
        f"{name}_" if name in keywords and index < n_position_only else name
        for index, name in enumerate(names)
    )
    return CallNames(
        positional,
        n_position_only,
        tuple(keywords),
        tuple(either_way),
        *_gathered(parameters, keywords),
    )


def _gathered(
    parameters: Sequence[inspect.Parameter], keywords: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """The keywords that no parameter is named after, if there are several, and what takes them."""
    named = {each.name for each in parameters if each.kind in _BY_NAME}
    rest = tuple(name for name in keywords if name not in named)
    takers = [each.name for each in parameters if each.kind is each.VAR_KEYWORD]
    return (rest, takers[0]) if takers and len(rest) > 1 else ((), "")


_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
