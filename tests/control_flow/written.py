"""Programs whose rounds of a `while` on data, and branches inside, write to tensors in place."""

import torch
from torch import nn

from tests.control_flow.branching import DOWN, UP, ZERO, branching

ALL = (UP, DOWN, ZERO, torch.tensor([9.0, -1.0, 2.0]), torch.tensor([-2.0, 8.0, -1.0]))


@branching(*ALL)
def counted_up(x):
    """Every element, until they are enough."""
    y = x.clone()
    while y.sum() < 10:
        y += 1
    return y


@branching(*ALL)
def rows_of_a_table(x):
    """Each round fills a row that its number says; the test has two halves."""
    table, k = torch.zeros(6, 3), 0
    while x.sum() > k and k < 6:
        table[k] = x * k
        k += 1
    return table, k


@branching(*ALL)
def rows_by_a_tensor(x):
    """The place is a tensor, and what was written before is read."""
    words = torch.zeros(2, 8, dtype=torch.int64)
    words[:, 0] = 1
    at, done = torch.tensor(1), x[:2] < 0
    while not done.all() and at < 8:
        word = (words.sum(1) + at) % 3
        words[:, at] = word
        done = done | (word == 0)
        at = at + 1
    return words, at


@branching(*ALL)
def returns_what_it_writes(x):
    """The tensor itself is returned, from inside and from behind."""
    table, k = torch.zeros(8, 3), 0
    while k < 7:
        table[k] = x * k
        if x.sum() * k > 4:
            return table, k
        k += 1
    return table, k


@branching(*ALL)
def through_a_view(x):
    """A view from outside is written to, and shows it after the loop."""
    y = torch.zeros(4, 3)
    row = y[1]
    while y.sum() < x.sum():
        row.add_(1)
    return y, row.sum()


@branching(*ALL)
def branches_write_inside(x):
    """A branch of a branch of a round writes by a view, another by the tensor."""
    y, k = torch.zeros(4, 3), 0
    row = y[1]
    while x.sum() > k and k < 6:
        if x[0] > 0:
            row.add_(1)
            if x[1] > 0:
                y[2] = row
            y[3, 0] += 2
        k += 1
    return y, row * 1


@branching(*ALL)
def branches_in_branches(x):
    """The same without a loop."""
    y = torch.zeros(4, 3)
    row = y[0]
    if x.sum() > 0:
        row.add_(1)
        if x[0] > 0:
            y[1] = 5
            row.mul_(3)
        y[2] = row
    return y, row * 1


@branching(*ALL)
def loops_in_loops(x):
    """Both write to one tensor."""
    y, k = torch.zeros(3, 3), 0
    while x.sum() > k and k < 3:
        n = 0
        y[k] += 1
        while x[0] > n and n < 3:
            y[n, k] += x[1]
            n += 1
        k += 1
    return y


@branching(*ALL)
def two_tensors(x):
    """One is read where the other is written."""
    a, b = torch.zeros(3), torch.ones(3)
    while a.sum() < x.sum():
        a.add_(b)
        b.mul_(a)
    return a, b


@branching(*ALL)
def the_input(x):
    """The caller sees it."""
    while x.sum() < 5:
        x.add_(1)
    return x * 2


@branching(*ALL)
class CountsInABuffer(nn.Module):
    """Each call goes on from the last."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        k = 0
        while x.sum() > k and k < 4:
            self.seen[k % 3] += 1
            k += 1
        return x + self.seen, k


@branching(*ALL, refused="write-after-branch")
def what_is_carried_is_a_view(x):
    """The next round reads, by another name, what this one writes."""
    y, k = torch.zeros(8), 0
    held = y[0]
    while x.sum() > k and k < 8:
        y[k] = held + 1
        held = y[k]
        k += 1
    return y, held


@branching(*ALL, refused="write-after-branch")
def what_is_carried_is_the_tensor(x):
    """Which of two is written to changes by round."""
    a, b, k = torch.zeros(3), torch.ones(3), 0
    while x.sum() > k and k < 4:
        a.add_(1)
        a, b = b, a
        k += 1
    return a, b


@branching(*ALL, refused="branch-decides")
def asks_how_often(x):
    """Versions count rounds."""
    y = torch.zeros(3)
    while y.sum() < x.sum():
        y += 1
    return y + y._version


@branching(*ALL)
def writes_what_another_name_gives(x):
    """The inner `if` gives one of two names of what its other side writes to."""
    total = x.sum()
    same = total.to(total.dtype)
    if 0 < x[0] < 3:
        same = same * 2
    else:
        total *= 2
    return -same


class WritesWithGradients(nn.Module):
    """What rounds write needs gradients, and so does what they overwrite."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))

    def forward(self, x):
        """The sum of squares of a table."""
        y, k = self.weight * 2, 0
        while x.sum() > k and k < 4:
            y[k % 3] = (self.weight * x).sum() + y[0]
            k += 1
        return (y * y).sum()
