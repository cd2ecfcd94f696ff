"""Persistent writes: those that outlive the call; their names, lines, and which do no harm."""

from __future__ import annotations

from itertools import islice
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from monograph.capture.code_policy import is_users
from monograph.capture.hidden_state.container_contents import OF_FUNCTIONS
from monograph.capture.hidden_state.native_state import package_of
from monograph.capture.side_effects.module_mutation import is_made_of_state
from monograph.capture.side_effects.place_names import Called, called, containers
from monograph.diagnostics import MonographError, problem
from monograph.diagnostics.code_origin import is_installed

if TYPE_CHECKING:
    from monograph.capture.recording.scopes import Scopes
    from monograph.capture.side_effects.module_state import ModuleState
    from monograph.capture.side_effects.tracking import WriteTarget
    from monograph.diagnostics import Frame


_OURS: Final = __name__.partition(".")[0]


class Effect(NamedTuple):
    """A write that outlives the call: where to, how the code calls that, and its lines."""

    place: WriteTarget
    called: Called
    at: tuple[Frame, ...]

    def is_seen_outside(self) -> bool:
        """Whether the user's own code tells others something, whatever later calls do.

        Installed packages keep what is theirs, and so do programs that are called.
        """
        if package_of(type(self.place.owner)) == _OURS:
            return False
        if self.place.kind == "global" and self._is_of_its_package():
            return False
        by = (code.co_filename for code, _ in self.place.by if is_users(code.co_filename))
        files = {*(frame.code.co_filename for frame in self.at[:1]), *islice(by, 1)}
        is_told = _is_in_c(self.place) or self.place.is_told()
        return is_told and not all(map(is_installed, files))

    def _is_of_its_package(self) -> bool:
        """Whether a module of an installed package sets its own global, whoever called it."""
        file = self.place.by[0][0].co_filename if self.place.by else ""
        return is_installed(file) and self.place.owner.get("__file__") == file

    def refusal(self) -> MonographError:
        """The refusal of this write."""
        kind, name = self.called
        return problem("write-outlives-call", at=self.at, kind=kind, name=name)


def _is_in_c(place: WriteTarget) -> bool:
    """Whether it is what C keeps of a function, such as default values: that is no cache."""
    return type(place.owner) is FunctionType and place.changed_name() in OF_FUNCTIONS


def name_of(place: WriteTarget, state: ModuleState, arguments: Any, root: Called | None) -> Called:
    """How code calls a place; what is deep inside, by the `root` that led to it.

    `arguments` are the (args, kwargs) that forward was given.
    """
    name = place.changed_name()
    if isinstance(place.owner, type):
        return Called("class", f"{place.class_name()}.{name}")
    classes = [cls for module in state.modules for cls in type(module).__mro__]
    given = containers(state.root.forward, *arguments)
    found = called(place, given, dict.fromkeys(classes))
    if found.kind != "object" or root is None:
        return found
    return Called(root.kind, f"{root.name}.{name}") if name else root


def lines(place: WriteTarget, scopes: Scopes) -> tuple[Frame, ...]:
    """The user's lines that wrote there first, innermost first."""
    known = scopes.filter
    return known.innermost_user(known.frame(code, lasti) for code, lasti in place.by)


def is_filled_once(place: WriteTarget) -> bool:
    """Whether nothing was there, and now tensors that are made of the module's own state alone."""
    news = place.news()
    return bool(news) and all(is_made_of_state(each) for each in news)
