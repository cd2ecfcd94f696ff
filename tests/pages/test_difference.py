"""Two programs side by side: what is the same, and what became of the rest."""

import torch

from monograph.pages import graph_document
from monograph.pages.program_difference import mark_difference
from tests.pages.programs import sample


def documents(one, other):
    """The documents of two programs, marked, and the counts."""
    before, after = graph_document(one), graph_document(other)
    return before, after, mark_difference(before, after, other)


def test_a_program_is_the_same_as_itself():
    """Nothing differs, and each node corresponds to itself."""
    before, _, counts = documents(sample(), sample())
    assert counts == {"removed": 0, "added": 0}
    assert [node["counterparts"] for node in before["nodes"]] == [
        [number] for number in range(len(before["nodes"]))
    ]


def test_lowering_links_what_it_made_to_what_it_was_made_of():
    """What `linear` became is linked to it, in both directions; what stayed is the same."""
    before, after, counts = documents(sample(), sample().run_decompositions())
    assert counts["removed"] > 0
    assert counts["added"] > 0
    names = [node["name"] for node in before["nodes"]]
    linear = before["nodes"][names.index("linear_1")]
    assert not linear["same"]
    made = [after["nodes"][each] for each in linear["counterparts"]]
    operators = {after["operators"][each["operator"]]["name"] for each in made}
    assert "aten.addmm.default" in operators
    assert all(names.index("linear_1") in each["counterparts"] for each in made)
    (sine,) = (each for each in after["nodes"] if each["name"] == "sin")
    assert sine["same"]


def test_programs_of_other_modules_share_nothing_by_chance():
    """Where no line, module or operator is shared, nothing but what stands for itself is linked."""

    class Other(torch.nn.Module):
        def forward(self, x):
            return x.cos()

    from monograph import export  # noqa: PLC0415 - beside what it exports

    before, after, _ = documents(sample(), export(Other(), (torch.ones(2),)))
    (cosine,) = (each for each in after["nodes"] if each["kind"] == "call")
    assert not cosine["same"]
    assert cosine["counterparts"] == []
    assert not any(each["same"] for each in before["nodes"] if each["kind"] == "call")
