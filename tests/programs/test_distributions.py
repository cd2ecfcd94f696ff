"""`torch.distributions` in a forward: the checks of arguments are assertions of the program."""

import pytest
import torch
import torch.distributions as dist

import monograph
from monograph import Dim

ASKS = dist.Distribution.set_default_validate_args


@pytest.fixture(autouse=True)
def checks():
    """As by default: `torch.compile` turns the checks off, for the whole process."""
    before = dist.Distribution._validate_args
    ASKS(True)
    yield
    ASKS(before)


MADE = {
    "normal": lambda x: dist.Normal(x, x.exp()).log_prob(x + 1),
    "entropy": lambda x: dist.Normal(x, torch.ones_like(x)).entropy(),
    "drawn with gradients": lambda x: dist.Normal(x, x.exp()).rsample(),
    "drawn twice": lambda x: dist.Normal(x, x.exp()).sample((2,)),
    "categorical": lambda x: dist.Categorical(logits=x).log_prob(x.argmax(-1)),
    "probabilities": lambda x: dist.Categorical(probs=x.softmax(-1)).entropy(),
    "bernoulli": lambda x: dist.Bernoulli(logits=x).log_prob((x > 0).float()),
    "of vectors": lambda x: dist.MultivariateNormal(x, torch.eye(x.shape[-1])).log_prob(x),
    "divergence": lambda x: dist.kl_divergence(dist.Normal(x, x.exp()), dist.Normal(0.0, 1.0)),
    "independent": lambda x: dist.Independent(dist.Normal(x, x.exp()), 1).log_prob(x),
    "beta": lambda x: dist.Beta(x.exp(), x.exp()).log_prob(x.sigmoid()),
    "relaxed": lambda x: dist.RelaxedOneHotCategorical(torch.tensor(0.5), logits=x).rsample(),
    "transformed": lambda x: dist.TransformedDistribution(
        dist.Normal(x, x.exp()), [dist.TanhTransform()]
    ).rsample(),
    "mixture": lambda x: dist.MixtureSameFamily(
        dist.Categorical(logits=x), dist.Normal(x, x.exp())
    ).log_prob(x[:, 0]),
}


OF_TWO_AND_MORE = {"of vectors", "divergence"}
"""A batch of one is left out, for `expand` of it is a view that lies otherwise."""


class Of(torch.nn.Module):
    """A function of one tensor."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("name", MADE)
def test_it_agrees_at_other_sizes(name, strict):
    """With the same draws, lowered as well."""
    module, shapes = Of(MADE[name]), ({0: Dim("batch", min=1)},)
    exported = monograph.export(module, (torch.randn(4, 3),), dynamic_shapes=shapes, strict=strict)
    for program in (exported.module(), exported.run_decompositions().module()):
        for n in (2, 3, 7) if name in OF_TWO_AND_MORE else (1, 2, 7):
            x = torch.randn(n, 3)
            torch.manual_seed(n)
            expected = module(x)
            torch.manual_seed(n)
            torch.testing.assert_close(program(x), expected)


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
def test_what_no_distribution_has_is_an_error_of_the_call(strict):
    """The message names the argument, and shows no abstract tensor."""
    module = Of(lambda x: dist.Normal(x, x, validate_args=True).log_prob(x))
    program = monograph.export(module, (torch.ones(3),), strict=strict).module()
    assert torch.equal(program(torch.full((3,), 2.0)), module(torch.full((3,), 2.0)))
    with pytest.raises(RuntimeError, match=r"Expected parameter scale .* GreaterThan") as caught:
        program(-torch.ones(3))
    assert "Abstract" not in str(caught.value)
