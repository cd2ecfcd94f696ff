"""Operators that raise for some data: each with an argument that is legal, and one that is not."""

import torch
import torch.nn.functional as F

RAISING_FOR_DATA = {
    "assert": (torch._assert_async, torch.tensor(True), torch.tensor(False)),
    "bernoulli": (torch.bernoulli, torch.ones(2), torch.full((2,), 2.0)),
    "cross entropy": (
        lambda p: F.binary_cross_entropy(p, torch.ones(2)),
        torch.full((2,), 0.5),
        torch.full((2,), 2.0),
    ),
    "division": (lambda n: torch.tensor([4, 4]) // n, torch.ones(2).int(), torch.zeros(2).int()),
    "embedding bag": (
        lambda i: F.embedding_bag(i, torch.ones(3, 2), torch.tensor([0])),
        torch.tensor([1, 2]),
        torch.tensor([1, 4]),
    ),
    "index_copy_": (
        lambda i: torch.ones(3).index_copy_(0, i, torch.ones(2)),
        torch.tensor([1, 2]),
        torch.tensor([1, 4]),
    ),
    "inverse": (torch.linalg.inv, torch.eye(2), torch.zeros(2, 2)),
    "factorization": (torch.linalg.cholesky, torch.eye(2), -torch.eye(2)),
    "margin loss": (
        lambda i: F.multi_margin_loss(torch.ones(2, 3), i),
        torch.tensor([1, 2]),
        torch.tensor([1, 4]),
    ),
    "masked_scatter": (
        lambda m: torch.masked_scatter(torch.zeros(2), m, torch.ones(1)),
        torch.tensor([True, False]),
        torch.tensor([True, True]),
    ),
    "multinomial": (lambda p: torch.multinomial(p, 1), torch.ones(2), -torch.ones(2)),
    "unpooling": (
        lambda i: F.max_unpool1d(torch.ones(1, 1, 2), i, 2),
        torch.tensor([[[0, 2]]]),
        torch.tensor([[[0, 9]]]),
    ),
    "modulo": (lambda n: torch.tensor([4, 4]) % n, torch.ones(2).int(), torch.zeros(2).int()),
    "lu": (lambda a: torch.linalg.lu_factor(a)[0], torch.eye(2), torch.zeros(2, 2)),
    "pinv": (torch.linalg.pinv, torch.eye(2), torch.full((2, 2), torch.nan)),
    "power": (lambda a: torch.linalg.matrix_power(a, -1), torch.eye(2), torch.zeros(2, 2)),
    "quantile": (
        lambda q: torch.quantile(torch.ones(3), q),
        torch.tensor([0.5]),
        torch.tensor([2.0]),
    ),
    "solve": (lambda a: torch.linalg.solve(a, torch.ones(2)), torch.eye(2), torch.zeros(2, 2)),
    "svd": (lambda a: torch.linalg.svd(a)[1], torch.eye(2), torch.full((2, 2), torch.nan)),
}
