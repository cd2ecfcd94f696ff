"""Recurrent layers: directions, layers, projections, packed sequences."""

import torch

from tests.laws.samples.pointwise import case, floats

DATA, STEPS = floats(9, 5), torch.tensor([4, 3, 2])
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def weights(gates, layers, directions, proj):
    """Parameters of a layer over 5 features with 6 hidden ones, without biases."""
    out = proj or 6
    found = []
    for layer in range(layers):
        for _ in range(directions):
            found += [floats(gates * 6, out * directions if layer else 5), floats(gates * 6, out)]
            found += [floats(proj, 6)] if proj else []
    return found


def states(name, layers, directions, proj, batch=4):
    """The first hidden state, or states."""
    hidden = floats(layers * directions, batch, proj or 6)
    return [hidden, floats(layers * directions, batch, 6)] if name == "lstm" else hidden


def padded(name, layers, directions, proj, batch_first):
    """A layer over padded sequences."""
    x = floats(4, 7, 5) if batch_first else floats(7, 4, 5)
    params = weights(GATES[name], layers, directions, proj)
    state = states(name, layers, directions, proj)
    flags = (False, layers, 0.0, False, directions == 2, batch_first)
    return case(f"{name}.input", x, state, params, *flags)


def packed(name, layers, directions, proj):
    """A layer over packed sequences."""
    params = weights(GATES[name], layers, directions, proj)
    state = states(name, layers, directions, proj)
    flags = (False, layers, 0.0, False, directions == 2)
    return case(f"{name}.data", DATA, STEPS, state, params, *flags)


KINDS = [
    (name, layers, directions, proj)
    for name in GATES
    for layers in (1, 2)
    for directions in (1, 2)
    for proj in ((0, 3) if name == "lstm" else (0,))
]
CELL = (floats(3, 6), floats(24, 5), floats(24, 6))

SAMPLES = [
    *[padded(*kind, batch_first) for kind in KINDS for batch_first in (False, True)],
    *[packed(*kind) for kind in KINDS],
    case("lstm_cell", floats(3, 5), [floats(3, 6), floats(3, 6)], floats(24, 5), floats(24, 6)),
    case("gru_cell", floats(3, 5), floats(3, 6), floats(18, 5), floats(18, 6)),
    case("rnn_tanh_cell", floats(3, 5), floats(3, 6), floats(6, 5), floats(6, 6)),
    case("rnn_relu_cell", floats(3, 5), floats(3, 6), floats(6, 5), floats(6, 6)),
    case("_pack_padded_sequence", floats(4, 3, 5), torch.tensor([4, 3, 1]), False),
    case("_pack_padded_sequence", floats(3, 4, 5), torch.tensor([4, 3, 1]), True),
    case("_pad_packed_sequence", floats(8, 5), torch.tensor([3, 2, 2, 1]), True, 0.0, 0),
    case("_pad_packed_sequence", floats(8, 5), torch.tensor([3, 2, 2, 1]), False, 0.0, 6),
]
