"""Rules know no example: they look, they require, and `integers.choose` picks their cases."""

import ast

from tests.repo.sources import PACKAGE, sources

READS_THE_EXAMPLE = {"example", "hint_of", "hint_of_relation", "hints", "plain_value"}
SYMBOLIC_NUMBERS = {"symbols.py", "tensor.py"}
"""What user code holds in its hands: its questions are answered by `decide`."""


def test_no_rule_reads_the_example():
    """Neither the rules nor the helpers in `abstract/` that they are made of."""
    found = [
        f"{source.at(node)} {name}"
        for source in sources()
        if source.folder == "rules"
        or (source.folder == "abstract" and source.path.name not in SYMBOLIC_NUMBERS)
        for node, name in names(source.tree)
        if name in READS_THE_EXAMPLE
    ]
    assert not found, "\n".join(found)


def test_the_symbolic_numbers_are_where_this_says():
    """A file that moved away must not take the exception with it."""
    assert {path.name for path in (PACKAGE / "abstract").glob("*.py")} >= SYMBOLIC_NUMBERS


def names(tree):
    """Every name that is used, looked up or imported."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield node, name
