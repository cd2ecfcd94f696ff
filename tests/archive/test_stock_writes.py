"""What a file of torch.export writes to is known here, also through parts of a buffer."""

import torch
from torch import nn

from tests.archive.peers import loaded, saved_there


class WritesPart(nn.Module):
    """Writes to one part of a buffer that was split."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(4, 4))

    def forward(self, x):
        part, _ = self.state.split(2)
        part.add_(1)
        return x * self.state


def test_a_write_to_a_part_of_a_buffer_is_a_write_to_the_buffer():
    """The parts are results of one operator, which the graph takes by their places."""
    program = torch.export.export(WritesPart(), (torch.ones(4, 4),))
    assert "target='state'" in str(loaded(saved_there(program)).graph_signature)
