"""Functions of torch that are overridden: given sizes that vary, or unlike their operators."""

import io
import itertools

import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import monograph
from monograph import Dim
from monograph.diagnostics import ContractError

HANN = torch.hann_window(16)
LENGTHS = (64, 58, 100, 73, 1)


class Inverse(torch.nn.Module):
    """A signal as long as another one."""

    def __init__(self, window, **options):
        """Keep how it is made."""
        super().__init__()
        self.register_buffer("window", window)
        self.options = options

    def forward(self, z, x):
        """Give it."""
        return torch.istft(z, 16, 4, window=self.window, length=x.shape[-1], **self.options)


def loaded(program, load=monograph.load):
    """Give what a file of the program holds."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return load(file)


def gradient(result, z):
    """Differentiate by the frames."""
    return torch.autograd.grad(result.abs().square().sum(), z)[0]


SIDES = ({}, {"onesided": False}, {"onesided": False, "return_complex": True})
CASES = [
    ({"center": center, "normalized": bool(i % 2), **sides}, (2,) * ((i + center) % 2), i > center)
    for center in (True, False)
    for i, sides in enumerate(SIDES)
]


@pytest.mark.filterwarnings("ignore:The length of signal is shorter")
@pytest.mark.parametrize(("options", "batch", "strict"), CASES, ids=str)
def test_istft_is_as_long_as_a_size_says(options, batch, strict):
    """Shorter and longer than the frames say, whole and lowered, and read back from files."""
    window = HANN if options["center"] else torch.ones(16)
    how = {key: options[key] for key in ("center", "normalized")}
    is_complex, onesided = "return_complex" in options, "onesided" not in options
    signal = torch.randn(*batch, 64, dtype=torch.complex64 if is_complex else torch.float32)
    z = torch.stft(signal, 16, 4, window=window, onesided=onesided, return_complex=True, **how)
    module, lengths = Inverse(window, **options), {len(batch): Dim.AUTO}
    program = monograph.export(
        module, (z, torch.ones(*batch, 64)), dynamic_shapes=({}, lengths), strict=strict
    )
    lowered = program.run_decompositions()
    assert "aten.istft" not in str(lowered.graph)
    programs = [program, lowered, loaded(program), loaded(lowered)]
    programs += [loaded(program, torch.export.load), loaded(lowered, torch.export.load)]
    calls = [*(each.module() for each in programs), monograph.unflatten(program)]
    for n in LENGTHS:
        x, given = torch.ones(*batch, n), z.clone().requires_grad_()
        expected = module(given, x)
        slope = gradient(expected, given)
        for call in calls:
            result = call(given, x)
            torch.testing.assert_close(result, expected)
            torch.testing.assert_close(gradient(result, given), slope)


@pytest.mark.filterwarnings("ignore:The length of signal is shorter")
def test_istft_of_frames_that_vary():
    """The number of frames may vary beside the length; a length of nothing is refused."""

    def frames(n):
        return torch.stft(torch.randn(2, n), 16, 4, window=HANN, return_complex=True)

    module, sizes = Inverse(HANN), ({2: Dim.AUTO}, {1: Dim.AUTO})
    program = monograph.export(module, (frames(64), torch.ones(2, 60)), dynamic_shapes=sizes)
    lowered = program.run_decompositions()
    for m, n in itertools.product((16, 40, 64, 100), (3, 40, 64, 130)):
        z, x = frames(m), torch.ones(2, n)
        torch.testing.assert_close(program.module()(z, x), module(z, x))
        torch.testing.assert_close(lowered.module()(z, x), module(z, x))
    for each in (program, lowered):
        with pytest.raises(ContractError):
            each.module()(frames(64), torch.ones(2, 0))


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
def test_a_number_out_of_data_is_how_long_a_window_is(strict):
    """C++ would ask for its value, which nobody knows."""

    class Windowed(torch.nn.Module):
        def forward(self, n):
            return torch.hann_window(n.item()), torch.tril_indices(n.item(), 3)

    program = monograph.export(Windowed(), (torch.tensor(5),), strict=strict)
    for n in (1, 5, 8):
        given = torch.tensor(n)
        torch.testing.assert_close(program.module()(given), Windowed()(given))


def test_who_stands_between_sees_the_call():
    """Under autocast and within `vmap` C++ makes the call, and the size is fixed by a guard."""

    class Mapped(torch.nn.Module):
        def forward(self, x):
            return torch.vmap(lambda row: row.unfold(0, x.shape[0], 1))(x)

    class Cast(torch.nn.Module):
        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                return torch.nn.functional.avg_pool1d(x @ x.T, x.shape[0])

    for module in (Mapped(), Cast()):
        x = torch.randn(3, 8)
        program = monograph.export(module, (x,), dynamic_shapes=({0: Dim.AUTO},))
        torch.testing.assert_close(program.module()(x), module(x))
        with pytest.raises(ContractError, match=r"x.shape\[0\] == 3"):
            program.module()(torch.randn(4, 8))


def test_what_no_operator_takes_is_said_as_in_eager():
    """`out=` and a half of a size are the parser's business."""

    class Half(torch.nn.Module):
        def forward(self, x):
            return torch.hann_window(x.shape[0] / 2)

    with pytest.raises(TypeError, match="must be int, not float"):
        monograph.export(Half(), (torch.ones(4),), dynamic_shapes=({0: Dim.AUTO},))


class MadeToBeFollowed(torch.nn.Module):
    """Tensors of sizes, and of data, that autograd is told to follow."""

    def forward(self, x):
        """Give them, and what is computed of them."""
        made = [
            torch.tensor(float(x.shape[0]), requires_grad=True),
            torch.tensor([float(x.shape[0]), 2.0], requires_grad=True),
            torch.tensor(x.sum().item(), requires_grad=True),
        ]
        return made, [each * 2 for each in made]


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_tensors_of_numbers_that_autograd_follows(strict):
    """They are leaves, lowered too, and whether the caller has gradients on or not."""
    program = monograph.export(
        MadeToBeFollowed(), (torch.ones(4, 3),), dynamic_shapes="x: n, 3", strict=strict
    )
    for form in (program, program.run_decompositions()):
        for mode in (torch.enable_grad, torch.no_grad):
            with mode():
                given, expected = (
                    torch.utils._pytree.tree_leaves(run(torch.ones(5, 3)))
                    for run in (form.module(), MadeToBeFollowed())
                )
            for one, other in zip(given, expected, strict=True):
                assert torch.equal(one, other)
                assert (one.requires_grad, one.is_leaf) == (other.requires_grad, other.is_leaf)


class Attends(torch.nn.Module):
    """Attention by one kernel, and by the one that PyTorch chooses."""

    def __init__(self, backend):
        super().__init__()
        self.backend = backend

    def forward(self, q):
        with sdpa_kernel(self.backend):
            inside = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        return inside, F.scaled_dot_product_attention(q, q, q, is_causal=True)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_the_kernel_of_attention_is_kept(backend, strict):
    """Rows of NaN tell the kernels apart; switches of the process are as before."""
    module, q = Attends(backend), torch.randn(1, 1, 3, 4)
    before = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
    program = monograph.export(module, (q,), strict=strict)
    assert before == (
        torch.backends.cuda.flash_sdp_enabled(),
        torch.backends.cuda.math_sdp_enabled(),
    )
    q = torch.randn(1, 1, 3, 4)
    torch.testing.assert_close(program.run_decompositions().module()(q), module(q))
    for nan in (0, 2):
        q = torch.randn(1, 1, 3, 4)
        q[0, 0, nan, 0] = torch.nan
        torch.testing.assert_close(program.module()(q), module(q), equal_nan=True)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("bounds", [(5,), (2, 5)])
def test_integers_drawn_like_a_tensor_need_no_gradients(bounds, strict):
    """Its operator would say that they do, as the tensor does."""

    class Draws(torch.nn.Module):
        def forward(self, x):
            return torch.randint_like(x, *bounds)

    x = torch.ones(3, requires_grad=True)
    program = monograph.export(Draws(), (x,), strict=strict)
    for made in (program, program.run_decompositions()):
        torch.manual_seed(0)
        drawn = made.module()(x)
        torch.manual_seed(0)
        assert torch.equal(drawn, torch.randint_like(x, *bounds))
        assert not drawn.requires_grad
