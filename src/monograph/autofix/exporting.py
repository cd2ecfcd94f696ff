"""The process of an attempt: user code runs with edits in place, and what it exports is recorded.

A factory is exported as the command line does. A script exports by itself; what it gives to
`monograph.export` is recorded on the way. Seeds make two runs of the same code give the same.
"""

from __future__ import annotations

import copy
import json
import linecache
import random
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from monograph import api
from monograph.archive import save
from monograph.autofix.attempts import Attempt, AttemptRequest, OfferedRefusal
from monograph.autofix.declarations import DeclaredSizes, declared_by, declared_in, edit_of
from monograph.autofix.edited_sources import imported_as, read
from monograph.diagnostics import ConstraintViolation, MonographError, place
from monograph.factories import NotThereError, factory, made
from monograph.host.trees import leaves_of
from monograph.verification import verify
from monograph.verification.evidence import difference, fingerprints
from monograph.verification.outcomes import Outcome

CALLS = 2
"""The second call shows what the first one wrote."""
SAMPLES = 12


class _EnoughError(BaseException):
    """Ends a script when what was asked for is known."""


def main(asked: str, answered: str) -> None:
    """Do what a file asks for, and write what came of it."""
    request = AttemptRequest(**json.loads(Path(asked).read_text(encoding="utf-8")))
    Path(answered).write_text(_done(request).text(), encoding="utf-8")


def _done(request: AttemptRequest) -> Attempt:
    run = _Exports(request)
    try:
        with imported_as(request.edited):
            run.all()
    except NotThereError as error:
        return Attempt("missing", str(error))
    except _EnoughError:
        pass
    except MonographError as error:
        run.refuse(error, None)
    except SystemExit as error:
        if error.code and run.error is None:
            return Attempt("raised", f"{request.place} left with exit status {error.code}")
    except BaseException as error:  # noqa: BLE001  (user code may raise anything)
        if run.error is None:
            return Attempt("raised", _told(error))
    return run.attempt()


def _told(error: BaseException) -> str:
    """What user code raised, with the innermost line of it that is in a file of the user's."""
    said = traceback.format_exception_only(error)[-1].strip()
    ours = str(Path(__file__).parents[1])
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.line]
    frames = [each for each in frames if not each.filename.startswith((ours, "<"))]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}: {said}"
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: {said}" if frames else said


@dataclass(slots=True)
class _Exports:
    """The exports that a run of user code makes."""

    request: AttemptRequest
    error: MonographError | None = None
    declared: DeclaredSizes | None = None
    eager: list[Any] = field(default_factory=list[Any])
    program: Any = None
    verified: Attempt | None = None

    def all(self) -> None:
        """Run the script, or export what the factory gives."""
        random.seed(0)
        torch.manual_seed(0)
        sys.path.insert(0, str(Path.cwd()))
        where = self.request.place
        if where.endswith(".py"):
            self._script(Path(where).resolve())
            return
        found = made(where)
        options: dict[str, Any] = {"dynamic_shapes": found.dynamic_shapes}
        if not self.request.strict:
            options["strict"] = False
        declared = declared_by(factory(where))
        self.export(declared, found.module, found.args, found.kwargs, **options)

    def _script(self, path: Path) -> None:
        if not path.is_file():
            raise NotThereError(f"there is no file {self.request.place}")
        sys.path.insert(0, str(path.parent))
        sys.argv[:] = [str(path)]
        # An attribute: `from monograph import export` finds it, too.
        package: Any = sys.modules["monograph"]
        package.export = api.export = self._recorded
        text = self.request.edited.get(str(path)) or read(path).text
        script = ModuleType("__main__")
        script.__file__ = str(path)
        sys.modules["__main__"] = script
        exec(compile(text, str(path), "exec"), vars(script))  # noqa: S102  (the user's own script)

    def _recorded(self, module: Any = None, args: Any = (), *rest: Any, **given: Any) -> Any:
        caller = sys._getframe(1)
        declared = declared_in(caller.f_code.co_filename, caller.f_lineno)
        if module is None:
            module = given.pop("mod", None)
        return self.export(declared, module, args, *rest, **given)

    def export(
        self,
        declared: DeclaredSizes | None,
        module: Any,
        args: Any,
        kwargs: Any = None,
        **given: Any,
    ) -> Any:
        """Export what is given, after it was called in eager code; or compare, if that is asked.

        Raises: what the export raises.
        """
        if self.request.dynamic is not None:
            given["dynamic_shapes"] = self.request.dynamic
        if self.request.verify:
            self._verify(module)
        self.eager.append(fingerprints(_eager(module, args, kwargs)))
        self._compare(len(self.eager) - 1, module, args, kwargs)
        try:
            self.program = _EXPORT(module, args, kwargs, **given)
        except MonographError as error:
            self.refuse(error, declared)
            raise
        return self.program

    def _verify(self, module: Any) -> None:
        """Compare the program that was saved with this module, which was not edited."""
        found = verify(self.request.verify, module, samples=SAMPLES)
        wrong = [each.difference for each in found.differences if each.difference]
        raising = [each for each in wrong if each.kind == "raises"]
        if not self.request.may_raise:
            raising = [each for each in raising if each.what.startswith("the module raises")]
        others = len(found.differences) - len(raising)
        legal = [each for each in found.samples if each.legal]
        equal = sum(each.verdict == "equal" for each in legal)
        text = f"{equal} of {len(legal)} calls give the same"
        text += f", {len(raising)} raise in one of the two" if raising else ""
        text = str(found) if others else text
        self.verified = Attempt("exported", text, right=not others)
        raise _EnoughError

    def _compare(self, number: int, module: Any, args: Any, kwargs: Any) -> None:
        before = self.request.before
        if before is None or number >= len(before) or before[number] is None:
            return
        found = difference(before[number], _eager(module, args, kwargs))
        if found is not None:
            self.verified = Attempt("raised", unlike=str(found))
            raise _EnoughError

    def refuse(self, error: MonographError, declared: DeclaredSizes | None) -> None:
        """Keep the first error; a script that goes on after it changes nothing."""
        if self.error is None:
            self.error, self.declared = error, declared

    def attempt(self) -> Attempt:
        """What came of it all."""
        if self.verified is not None:
            return self.verified
        if self.error is not None:
            problems = [_refusal(each, self) for each in self.error.problems]
            return Attempt("refused", str(self.error), tuple(problems), self.eager)
        if self.program is None:
            text = f"{self.request.place} exports nothing; name a factory: file.py:factory"
            return Attempt("missing", text)
        if self.request.save:
            save(self.program, self.request.save)
        return Attempt("exported", eager=self.eager)


_EXPORT = api.export


def _eager(module: Any, args: Any, kwargs: Any) -> list[Outcome]:
    """What a copy of a module gives, called with copies of its example inputs."""
    found: list[Outcome] = []
    state = torch.random.get_rng_state()
    try:
        torch.manual_seed(0)
        module = copy.deepcopy(module)
        for _ in range(CALLS):
            args_, kwargs_ = copy.deepcopy((args, dict(kwargs or {})))
            result = module(*args_, **kwargs_)
            leaves = [_plain(each) for each in leaves_of(result)]
            found.append(Outcome(leaves))
    except Exception as error:  # noqa: BLE001  (a model that does not run is compared as such)
        found.append(Outcome(error=error))
    finally:
        torch.random.set_rng_state(state)
    return found


def _plain(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _refusal(error: MonographError, run: _Exports) -> OfferedRefusal:
    diagnostic = error.diagnostic
    at = place(diagnostic.at[0]) if diagnostic.at else None
    repair = error.repair if isinstance(error, ConstraintViolation) else None
    whole = run.error.repair if isinstance(run.error, ConstraintViolation) else None
    repair = whole or repair
    edits, dynamic = list(diagnostic.edits), ""
    if repair is not None and run.request.dynamic is not None:
        dynamic = repair.value if isinstance(repair.value, str) else ""
    elif repair is not None and run.declared is not None:
        edits += filter(None, [edit_of(run.declared, repair)])
    return OfferedRefusal(
        diagnostic.name,
        diagnostic.headline,
        "" if at is None else f"{at.file}:{at.line}",
        "" if at is None else at.function,
        "" if at is None else linecache.getline(at.file, at.line).strip(),
        tuple(edits),
        dynamic,
    )


__all__ = ["main"]
