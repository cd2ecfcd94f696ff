"""The exceptions of this package; each carries its message as data in `.diagnostic`.

    MonographError
      ExportError              while a program is captured
        SpecError              the declaration of inputs or sizes is wrong (ValueError)
        ConstraintViolation    the sizes learnt contradict the declaration (ValueError)
        DataDependentError     needs a value or a fact that nobody stated (RuntimeError)
        UnsupportedError       Python or an operator that is not covered (RuntimeError)
        SideEffectError        a write that outlives the call (RuntimeError)
        ExportErrors           several of these, found in one run
          SpecErrors           several, every one a SpecError, and so is the group;
          ConstraintViolations, DataDependentErrors, UnsupportedErrors, SideEffectErrors: likewise
      ContractError            a call the program cannot vouch for (RuntimeError, ValueError,
                               AssertionError)
      ArchiveError             a file that cannot be read or written
      HandOverError            another system does not take the program, or we not one of its
      BugError                 ours; asks for a report

In brackets: the class of Python that it also is, so that code written for PyTorch catches it. What
is raised also is of the classes that `also_caught_as` names, where they are loaded.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from sys import modules
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics.rendering import LINES, render, render_all

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from typing import Self

    from monograph.diagnostics.diagnostic import Diagnostic
    from monograph.diagnostics.repair import Repair

__all__ = [
    "ArchiveError",
    "BugError",
    "ConstraintViolation",
    "ConstraintViolations",
    "ContractError",
    "DataDependentError",
    "ExportError",
    "ExportErrors",
    "HandOverError",
    "MonographError",
    "SideEffectError",
    "SpecError",
    "SpecErrors",
    "UnsupportedError",
    "also_caught_as",
    "noted",
    "notes_so_far",
    "together",
    "withdraw",
]

_NOTES: Final[ContextVar[list[MonographError] | None]] = ContextVar("notes", default=None)


@contextmanager
def noted() -> Generator[list[MonographError]]:
    """Every refusal made in this thread in a `with` block, in order, whoever catches it there."""
    notes: list[MonographError] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)
        notes.clear()  # or they keep the frames that they passed, which hold them


def notes_so_far() -> tuple[MonographError, ...]:
    """The refusals that were made in the innermost `noted` block around."""
    return tuple(_NOTES.get() or ())


def withdraw(refusal: MonographError) -> None:
    """A refusal that is not made after all: what eager code raises is raised in its place."""
    notes = _NOTES.get()
    if notes is not None and refusal in notes:
        notes.remove(refusal)


def also_caught_as(
    kind: type[MonographError], place: str, attributes: Callable[[Any], Mapping[str, Any]]
) -> None:
    """Let code catch a class of ours as the one at `module:name`, once somebody has imported that.

    `attributes` gives, for the module, what its constructor would have set.
    """
    _BASES.setdefault(kind, []).append((*place.split(":"), attributes))


_BASES: Final[dict[type, list[tuple[Any, ...]]]] = {}
_RAISED: Final[dict[tuple[type, ...], type]] = {}


def _raised_as(kind: type) -> type:
    """The class, or the one that is made of it and the loaded classes it is also caught as."""
    bases: list[type] = []
    attributes: dict[str, Any] = {}
    for each in kind.__mro__:
        for module, name, found in _BASES.get(each, ()):
            base = getattr(modules.get(module), name, None)
            if base is not None and base not in bases and not issubclass(kind, base):
                bases.append(base)
                attributes = {**found(modules[module]), **attributes}
    if not bases:
        return kind
    made = _RAISED.get((kind, *bases))
    if made is None:
        names = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
        made = type(kind.__name__, (kind, *bases), {**attributes, **names, "ours": kind})
        _RAISED[kind, *bases] = made
    return made


class MonographError(Exception):
    """Any refusal of this package; `str(error)`, `msg` and `args[0]` are the rendered message."""

    diagnostic: Diagnostic
    is_asked = False
    """Whether it was raised in place of a plain number; C code may have swallowed it since."""
    ours: type[MonographError] | None = None
    """The class that was named, where another was made of it to be raised."""
    _args: tuple[Any, ...] | None = None

    def __new__(cls, *args: Any, **_: Any) -> Self:
        """Make one that is also of those classes of torch that are loaded."""
        kind: Any = _raised_as(cls)
        return Exception.__new__(kind, *args)

    def __init__(self, diagnostic: Diagnostic) -> None:
        """Carry one message."""
        Exception.__init__(self, diagnostic)
        self.diagnostic = diagnostic
        notes = _NOTES.get()
        if notes is not None:
            notes.append(self)

    @property
    def problems(self) -> tuple[MonographError, ...]:
        """The single problems this error stands for: itself, unless it is a group."""
        return (self,)

    def _texts(self) -> tuple[Any, ...]:
        return (f"{self.text()}\n{self._page()}",) if self._args is None else self._args

    def _replace_texts(self, given: Iterable[Any]) -> None:
        self._args = tuple(given)

    # Rendered when it is read: most refusals are made, and met by going another way.
    args: tuple[Any, ...] = property(_texts, _replace_texts)  # pyright: ignore[reportAssignmentType] - it gives and takes that

    @property
    def msg(self) -> str:
        """The rendered message, under the names that torch's exceptions have for theirs."""
        return str(self)

    message = msg

    def text(self) -> str:
        """Render the message as plain text, but for the line that names its page and case."""
        return render(self.diagnostic, lines=LINES - 1)

    def _page(self) -> str:
        names = {each.diagnostic.name for each in self.problems}
        if len(names) > 1:
            return "see: monograph.explain(...), exportdb.cases[...], for each name in brackets"
        return self.diagnostic.see

    def __str__(self) -> str:
        """The rendered message, or what a handler put in its place."""
        return " ".join(map(str, self.args))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self.ours or type(self), self._made_of(), dict(vars(self))

    def _made_of(self) -> tuple[Any, ...]:
        return (self.diagnostic,)


class ExportError(MonographError):
    """The program cannot be captured as asked."""


class SpecError(ExportError, ValueError):
    """The declaration of inputs or sizes is wrong."""


class ConstraintViolation(ExportError, ValueError):  # noqa: N818  (torch's word, which users know)
    """The sizes learnt while capturing contradict the declaration, or each other.

    Where another declaration mends it, `repair` is that, and the message ends with it.
    """

    repair: Repair | None = None

    @property
    def suggested_dynamic_shapes(self) -> Any:
        """The whole declaration as it would do, to be given to `export`; None if nobody knows."""
        return None if self.repair is None else self.repair.value

    @property
    def suggestions(self) -> Mapping[str, str]:
        """What each name or size should be declared as: `{"d1": "4", "dy": "dx"}`."""
        return {} if self.repair is None else self.repair.suggestions

    def text(self) -> str:
        """Render the message; the repair is its end."""
        if self.repair is None:
            return super().text()
        ending = self.repair.lines()
        shown = render(self.diagnostic, lines=max(LINES - 1 - len(ending), LINES // 2))
        return "\n".join([shown, *ending])


class DataDependentError(ExportError, RuntimeError):
    """The program needs a value, or a fact about one, that nobody stated."""


class UnsupportedError(ExportError, RuntimeError):
    """Python or an operator that is not covered."""


class SideEffectError(ExportError, RuntimeError):
    """The program writes to something that outlives the call."""


class ExportErrors(ExportError):  # noqa: N818  (several errors)
    """Several problems of one run; `.diagnostic` is the first one's. Made by `together`."""

    def __init__(self, problems: Iterable[MonographError]) -> None:
        """Carry several messages, in the order given."""
        self._problems = tuple(problems)
        super().__init__(self._problems[0].diagnostic)

    @property
    def problems(self) -> tuple[MonographError, ...]:
        """The single problems, in the order in which they were found."""
        return self._problems

    def text(self) -> str:
        """Render every message below a headline that counts them."""
        return render_all([problem.diagnostic for problem in self._problems])

    def _made_of(self) -> tuple[Any, ...]:
        return (self._problems,)


class SpecErrors(ExportErrors, SpecError):  # noqa: N818  (several errors)
    """Several mistakes in the declaration of inputs or sizes."""


class ConstraintViolations(ExportErrors, ConstraintViolation):
    """Several contradictions between the sizes learnt and those declared, with one repair."""

    def text(self) -> str:
        """Render every message below a headline that counts them; the repair is the end."""
        shown = ExportErrors.text(self)
        return shown if self.repair is None else "\n".join([shown, "", *self.repair.lines()])


class DataDependentErrors(ExportErrors, DataDependentError):  # noqa: N818  (several errors)
    """Several values, or facts about them, that nobody stated."""


class UnsupportedErrors(ExportErrors, UnsupportedError):  # noqa: N818  (several errors)
    """Several things that are not covered."""


class SideEffectErrors(ExportErrors, SideEffectError):  # noqa: N818  (several errors)
    """Several writes that outlive the call."""


_GROUPS: Final[tuple[tuple[type[MonographError], type[ExportErrors]], ...]] = (
    (SpecError, SpecErrors),
    (ConstraintViolation, ConstraintViolations),
    (DataDependentError, DataDependentErrors),
    (UnsupportedError, UnsupportedErrors),
    (SideEffectError, SideEffectErrors),
)


class ContractError(MonographError, RuntimeError, ValueError, AssertionError):
    """A call that the program cannot vouch for; nothing has run."""


class ArchiveError(MonographError):
    """A file that cannot be read or written as a program."""


class HandOverError(MonographError):
    """A program that another system does not take over as it is, or one of its that we do not."""


class BugError(MonographError):
    """A mistake of ours, never of the user's."""


def together(problems: Iterable[MonographError]) -> MonographError:
    """Return the only problem, or one error that carries them all; equal messages count once.

    The group is a SpecError if all of them are; likewise the other classes.
    """
    found = {error.diagnostic: error for group in problems for error in group.problems}
    single = tuple(found.values())
    if not single:
        raise ValueError("there is no problem to raise")
    if len(single) == 1:
        return single[0]
    for kind, group in _GROUPS:
        if all(isinstance(error, kind) for error in single):
            return group(single)
    return ExportErrors(single)
