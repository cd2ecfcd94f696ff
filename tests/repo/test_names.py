"""Names in the field's words: no module under one of ours, and one meaning for each class name."""

from tests.repo.sources import PACKAGE
from tools import sizes

PRIVATE = frozenset(
    {
        *("forking", "arriving", "joining", "meetings", "lookahead", "flow", "carrying"),
        *("carried_writes", "looping", "rounds", "for_loops", "grown_lists"),
        *("doubts", "identities", "sharing", "lineage", "storages", "owners", "heap", "changes"),
        *("given", "keeping", "effects", "aftermath", "lasting", "outside", "opaque", "reach"),
        *("territory", "consulted", "hidden_questions", "questions", "asked", "stand_ins"),
        *("crossroads", "following", "replaying", "continuing", "rehearsal", "tried_results"),
        *("variations", "counting", "promises", "closing", "origins", "situation", "departed"),
        *("mistakes", "believing", "swallowed", "said", "material", "natives", "watcher"),
    }
)
"""Words that modules had, for which compilers and PyTorch have terms."""


def test_no_module_has_a_private_name():
    """An engineer greps for the field's term."""
    assert {str(path) for path in PACKAGE.rglob("*.py") if path.stem in PRIVATE} == set()


def test_a_class_name_has_one_meaning():
    """One class is defined under each name in all of src."""
    assert sizes.classes_defined_twice(sizes.sources()) == []
