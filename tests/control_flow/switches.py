"""Programs that choose a function or a module by a number in a tensor."""

import torch
from torch import nn

from tests.control_flow.branching import branching
from tests.seeding import reseed

X = torch.arange(8.0).view(2, 4) - 3
WAYS = tuple((X, torch.tensor(n)) for n in (1, 0, 2))
ENDS = tuple((X, torch.tensor(n)) for n in (1, 0, 2, -1, -3))
ROUTES = tuple((X, torch.tensor(route)) for route in ([1, 0, 1], [0, 0, 0], [1, 1, 1]))


class Three(nn.Module):
    """Three layers in a list, in a dict, and as attributes."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.listed = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4)), nn.Tanh()])
        self.named = nn.ModuleDict({f"expert_{n}": nn.Linear(4, 4) for n in range(3)})
        self.head_0, self.head_1, self.head_2 = nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(4, 2)
        self.scales = nn.ParameterList([torch.full((4,), float(n)) for n in range(3)])


@branching(*ENDS)
class SwitchOfList(Three):
    def forward(self, x, n):
        return self.listed[int(n)](x) + 1


@branching(*ENDS)
class SwitchOfListByTensor(Three):
    def forward(self, x, n):
        return self.listed[n](x) * 2


@branching(*WAYS)
class SwitchOfDict(Three):
    def forward(self, x, n):
        return self.named[f"expert_{n}"](x)


@branching(*WAYS)
class SwitchOfAttributes(Three):
    def forward(self, x, n):
        head = getattr(self, f"head_{n.item()}")
        return head(x).relu(), head.weight.sum()


@branching(*ENDS)
class SwitchOfParameters(Three):
    def forward(self, x, n):
        return x * self.scales[n.item()]


@branching(*ROUTES, stock=False)
class SwitchInLoop(Three):
    """What mixtures of experts do for the experts that somebody asked for."""

    def forward(self, x, route):
        out = torch.zeros_like(x)
        for expert in route.nonzero():
            out.index_add_(0, torch.tensor([1]), self.named[f"expert_{expert[0]}"](x)[:1])
        return out


@branching(*ROUTES, stock=False)
class SwitchInLoopOfNumbers(Three):
    """As often as there are experts, whose numbers are Python's."""

    def forward(self, x, route):
        out = torch.zeros_like(x)
        for expert in route.unique().tolist():
            out = out + self.listed[expert](x) * (route == expert).sum()
        return out


@branching(*ENDS)
def switch_of_functions(x, n):
    """One of them is made by the call."""

    def shifted(x):
        return x + 1

    return [torch.sin, shifted, torch.Tensor.neg][int(n)](x)


@branching(*WAYS)
def switch_of_functions_by_key(x, n):
    """Their results have different sizes."""
    return {0: torch.sin, 1: lambda x: x[:1], 2: torch.cos}[int(n)](x)


@branching(*WAYS)
def switch_that_writes(x, n):
    """One of them returns what it was given, one writes to it."""
    x = x.clone()
    y = [torch.Tensor.neg, lambda t: t.add_(1), lambda t: t][int(n)](x)
    return x * 2, y + 0


@branching(*ENDS)
class SwitchThatCounts(Three):
    """An object of the call's own is changed by what was chosen."""

    def forward(self, x, n):
        seen = []

        def twice(x):
            seen[0] = seen[0] * 2
            return x

        seen.append(x + 1)
        y = [twice, torch.neg, twice][int(n)](x)
        return y + 0, seen[0]


@branching((X,), (-X,))
class SwitchByTruth(Three):
    def forward(self, x):
        layer = [self.head_0, self.head_1][int(x.sum() > 0)]
        return layer(x), layer.out_features


@branching(*WAYS, refused="specialized-value")
class SwitchAskedWhichItIs(Three):
    def forward(self, x, n):
        layer = self.listed[int(n)]
        if isinstance(layer, nn.Linear):
            return layer(x)
        return x + 1


@branching(*WAYS, refused="specialized-value")
class SwitchCompared(Three):
    def forward(self, x, n):
        layer = self.listed[int(n)]
        return x if layer is self.listed[0] else layer(x)


@branching(*WAYS, refused="specialized-value")
class SwitchCounted(Three):
    def forward(self, x, n):
        return {self.listed[int(n)]: x + 1}.popitem()[1]
