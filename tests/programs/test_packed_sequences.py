"""`pad_packed_sequence`: the longest length is data, and the declared one a size."""

import io

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from monograph import Dim, export, load, save
from monograph.diagnostics import MonographError


class Tagger(nn.Module):
    """A layer over packed sequences, padded again."""

    def __init__(self, layer, batch_first, total, is_sorted):
        super().__init__()
        self.layer = layer(5, 7, batch_first=batch_first)
        self.batch_first, self.total, self.is_sorted = batch_first, total, is_sorted

    def forward(self, x, lengths):
        """The padded outputs, their lengths and the last state."""
        given = {"batch_first": self.batch_first}
        packed = pack_padded_sequence(x, lengths, enforce_sorted=self.is_sorted, **given)
        found, last = self.layer(packed)
        total = x.shape[1 if self.batch_first else 0] if self.total == "size" else self.total
        return *pad_packed_sequence(found, padding_value=-1.0, total_length=total, **given), last


def inputs(batch_first, steps, lengths):
    """A batch, and the lengths of its sequences."""
    x = torch.randn(len(lengths), steps, 5)
    return x if batch_first else x.transpose(0, 1).contiguous(), torch.tensor(lengths)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("total", [None, "size", 9])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU])
def test_padded_again(layer, batch_first, total, is_sorted, strict):
    """Programs agree, or raise where eager code does."""
    module = Tagger(layer, batch_first, total, is_sorted).eval()
    shapes = {"x": {0: Dim.AUTO, 1: Dim.AUTO}, "lengths": {0: Dim.AUTO}}
    example = inputs(batch_first, 6, [6, 4, 2])
    program = export(module, example, dynamic_shapes=shapes, strict=strict)
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    forms = [program.module(), program.run_decompositions().module(), load(file).module()]
    for steps, lengths in ((6, [6, 4, 2]), (6, [5, 5, 1]), (8, [7, 3]), (4, [4]), (10, [10, 9])):
        given = inputs(batch_first, steps, lengths)
        if total == 9 and max(lengths) > 9:
            for each in forms:
                with pytest.raises((MonographError, ValueError, RuntimeError)):
                    each(*given)
            continue
        expected = module(*given)
        for each in forms:
            torch.testing.assert_close(each(*given), expected)
