"""One module reads what schemas say of memory; everybody else asks its table."""

import ast

from tests.repo.sources import sources

READ_ALIASES = {"aliasing.py", "custom_operators.py"}
"""The table, and what compares a user's schema with what the operator did."""


def test_one_module_reads_what_schemas_say_of_memory():
    """No other module can keep a list of views of its own that it reads off schemas."""
    found = [
        source.at(node)
        for source in sources()
        if source.path.name not in READ_ALIASES
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr == "alias_info"
    ]
    assert not found, "\n".join(found)
