"""One mask has one number of places, unless it is written to in between."""

import torch
from torch import nn

import monograph


def sizes_of(forward):
    """Export, and give the sizes of the results as they are known."""
    module = type("M", (nn.Module,), {"forward": staticmethod(forward)})()
    program = monograph.export(module, (torch.randn(6, 4), torch.rand(6) > 0.5))
    facts = program.facts
    values = program.graph.output_node().meta["val"]
    shapes = [getattr(value, "tensor_type", None) for value in values]
    numbers = [
        v.node.value if t is None else t.shape[0] for v, t in zip(values, shapes, strict=True)
    ]
    return [facts.simplify(number) for number in numbers]


def test_every_way_to_count_gives_one_number():
    """Reads, positions, selections and sums of one mask."""

    def forward(x, m):
        count = m.sum()
        return x[m], x[:, 0][m], m.nonzero(), torch.where(m)[0], count.item(), x[:, 1][m]

    first, *others = sizes_of(forward)
    assert all(other is first for other in others)


def test_casts_count_alike():
    """A mask as integers has the same sum."""
    one, other = sizes_of(lambda x, m: (x[m], m.long().sum().item()))
    assert one is other


def test_another_mask_has_another_number():
    """So has the opposite."""
    one, other = sizes_of(lambda x, m: (x[m], x[~m]))
    assert one is not other


def test_a_mask_that_was_written_to_is_another():
    """The sum is of the mask before the write, wherever it is read."""

    def forward(x, m):
        m = m.clone()
        row = m[:6]
        count, before = row.sum(), x[row]
        m[0] = True
        return before, count.item(), x[row]

    before, count, after = sizes_of(forward)
    assert after is not before
    assert count is not after


def test_a_sum_that_was_written_to_is_no_count():
    """`item` reads what was written."""

    def forward(x, m):
        count = m.sum()
        count += 1
        return x[m], count.item()

    one, other = sizes_of(forward)
    assert one is not other


def test_a_broadcast_mask_counts_more():
    """`masked_select` repeats the mask for every row."""
    one, other = sizes_of(lambda x, m: (x[m], x.masked_select(m[:, None])))
    assert one is not other
