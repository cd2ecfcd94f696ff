"""The frozen module of a program: parameters are constants, and what depends on them is computed.

Law: a call returns what the program's module returns with the state that it has now, or is refused:
what was computed when it was frozen is not computed again, so the tensors that it was computed of
may not be written to. Autograd counts such writes; those through `.data` or NumPy it does not see.
"""

from __future__ import annotations

import copy
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from monograph.capture.installation import listening
from monograph.diagnostics import problem
from monograph.host.calling import is_read_by_dynamo
from monograph.host.dispatch import version_of
from monograph.host.fx_modules import found_at
from monograph.program.calling.program_module import ProgramModule, check_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import torch

FROZEN: Final = "_frozen"


@dataclass(frozen=True, slots=True)
class HoistedValue:
    """A value that is computed once: `name` is what it is called in the program's graph.

    `operators` computed it of the parameters, buffers and constants in `sources`. It has `n_bytes`
    of memory of its own: none where it is a view of one of them.
    """

    name: str
    operators: tuple[str, ...]
    sources: tuple[str, ...]
    n_bytes: int


@dataclass(frozen=True, slots=True)
class FrozenState:
    """What freezing made of a program's state.

    `constants` are the parameters and buffers that no call writes to; `dropped` are those of them
    that no call reads any more. The bytes are of everything that the module holds.
    """

    hoisted: tuple[HoistedValue, ...]
    constants: tuple[str, ...]
    dropped: tuple[str, ...]
    bytes_before: int
    bytes_after: int

    def __str__(self) -> str:
        lines = [
            f"{each.name}: {each.n_bytes:,} bytes = {', '.join(each.operators)}"
            f" of {', '.join(each.sources) or 'nothing'}"
            for each in self.hoisted
        ]
        return "\n".join(
            [*lines, f"{self.bytes_before:,} bytes of state, now {self.bytes_after:,}"]
        )


class Watch:
    """The tensors that hoisted values were computed of, and how often each was written to.

    Those that calls read are held by their names in the module, others not at all.
    """

    def __init__(
        self,
        state: FrozenState,
        read: Iterable[tuple[str, torch.Tensor]],
        others: Iterable[tuple[str, torch.Tensor]] = (),
    ) -> None:
        self.state = state
        self.read = [(name, tensor, version_of(tensor)) for name, tensor in read]
        self.others = [(name, weakref.ref(each), version_of(each)) for name, each in others]

    def check(self, module: torch.nn.Module) -> None:
        """Refuse where one of them is not what it was.

        Raises: state-frozen.
        """
        for name, tensor, version in self.read:
            if version_of(tensor) != version or found_at(module, name) is not tensor:
                raise problem("state-frozen", what=f"`{name}` was changed since it was frozen")
        for name, reference, version in self.others:
            held = reference()
            if held is not None and version_of(held) != version:
                raise problem("state-frozen", what=f"`{name}` was changed since it was frozen")

    def __deepcopy__(self, memo: dict[int, Any]) -> Watch:
        """A copy of the module has copies of what it reads; the rest is nobody's any more."""
        return Watch(self.state, [(n, copy.deepcopy(each, memo)) for n, each, _ in self.read])


class FrozenModule(ProgramModule):
    """What `program.module(freeze=True)` returns: no parameters, and buffers that calls write to.

    `print(module.frozen_state)` lists what was hoisted.
    """

    @property
    def frozen_state(self) -> FrozenState:
        """What became of the program's state."""
        return self.__dict__[FROZEN].state

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises: contract-broken, state-frozen.
        """
        watch: Watch = self.__dict__[FROZEN]
        if (watch.read or watch.others) and not is_read_by_dynamo() and not listening():
            watch.check(self)
        return super().__call__(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenModule:
        self.__dict__[FROZEN].check(self)
        copied: Any = super().__deepcopy__(memo)
        return copied

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> FrozenModule:  # noqa: FBT001, FBT002
        """Refuse to convert constants, too.

        Raises: state-converted.
        """
        for name in self.frozen_state.constants:
            held = found_at(self, name)
            check_kept(name, held, fn(held))
        copied: Any = super()._apply(fn, recurse)
        return copied

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any, **options: Any
    ) -> None:
        """Refuse values for what is a constant.

        Raises: state-frozen.
        """
        for name in (*self.frozen_state.constants, *self.frozen_state.dropped):
            if prefix + name in state_dict:
                raise problem("state-frozen", what=f"`{name}` is a constant of a frozen module")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest, **options)


__all__ = ["FrozenModule", "FrozenState", "HoistedValue", "Watch"]
