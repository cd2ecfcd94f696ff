"""A diagnosis does not depend on what else is imported, nor on who profiles: in fresh processes."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import contextlib, sys, warnings
from cProfile import Profile

warnings.simplefilter("ignore")
imports, profiles, every = sys.argv[1], sys.argv[2] == "True", int(sys.argv[3])
exec(imports)
from tests.contract.forms import FORMS
from tests.state import attributes, callbacks, outside_objects, surroundings
from tests.state.harness import judged
from tests.state.registry import ALLOWED_OUTSIDE, OUTSIDE, PROGRAMS

for program in [*PROGRAMS.values(), *OUTSIDE.values()][::every]:
    for form in ("strict", "plain"):
        with Profile() if profiles else contextlib.nullcontext():
            export, calls = judged(program, FORMS[form])
        is_right = {export.kind, "agrees" if calls is None else calls.kind} <= {"agrees", "refused"}
        if program.name in ALLOWED_OUTSIDE or not (program.refused or program.name in OUTSIDE):
            is_right = is_right and export.kind == "agrees"
        elif program.refused and not program.is_branch:
            is_right = is_right and export.kind == "refused"
        assert is_right, f"{program.name}, {form}: {export}, {calls}"
"""


def run_beside(imports: str, *, profiles: bool, every: int) -> None:
    """Judge every so manieth program of the corpus in a process of its own."""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, imports, str(profiles), str(every)],
        check=True,
        cwd=Path(__file__).parents[2],
        timeout=600,
    )


def test_a_part_of_the_corpus_beside_everything():
    """With dynamo imported, while `cProfile` runs."""
    run_beside("import torch._dynamo", profiles=True, every=40)


@pytest.mark.slow
@pytest.mark.parametrize("profiles", [False, True])
@pytest.mark.parametrize(
    "imports", ["import torch._dynamo", "import transformers.models.llama.modeling_llama"]
)
def test_the_corpus(imports, profiles):
    """The whole of it, beside each."""
    run_beside(imports, profiles=profiles, every=1)
