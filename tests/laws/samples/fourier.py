"""Fourier transforms of operands in every layout."""

import torch

from tests.laws.samples.linear import LAYOUTS
from tests.laws.samples.pointwise import case

ONE = ("fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft")
TWO = ("fft_fft2", "fft_ifft2", "fft_rfft2", "fft_irfft2")
ALL = ("fft_fftn", "fft_ifftn", "fft_rfftn", "fft_irfftn")
COMPLEX = [x.to(torch.complex64) for x in LAYOUTS]

SPECTRUM = torch.ones(2, 5, 9, dtype=torch.complex64)
FULL = torch.ones(2, 8, 9, dtype=torch.complex64)

SAMPLES = [
    *[
        case(name, x, n, dim)
        for name in ONE
        for x in LAYOUTS
        for n in (None, 2, 6)
        for dim in (1, -1)
    ],
    *[case(name, x, None, 1) for name in ("fft_fft", "fft_irfft") for x in COMPLEX],
    *[case(name, x, s, [2, 0]) for name in (*TWO, *ALL) for x in LAYOUTS for s in (None, [3, 6])],
    *[case(name, x, s) for name in ALL for x in LAYOUTS for s in (None, [3, -1])],
    *[case("fft_fftn", x, None, [0, 2]) for x in COMPLEX],
    *[case("_fft_c2c", x, [0, 2], 0, True) for x in COMPLEX],
    *[case("_fft_r2c", x, [0, 2], 0, onesided) for x in LAYOUTS for onesided in (True, False)],
    *[case("_fft_c2r", x, [0, 2], 0, n) for x in COMPLEX for n in (6, 7)],
    *[
        case(name, x, *d)
        for name in ("fft_fftshift", "fft_ifftshift")
        for x in LAYOUTS
        for d in ((), ([1],))
    ],
    *[
        case("istft", x, 8, window=torch.hann_window(8), **options)
        for x in (SPECTRUM, SPECTRUM[0])
        for options in ({}, {"hop_length": 3}, {"length": 11}, {"normalized": True})
    ],
    *[case("istft", SPECTRUM, 8, center=False), case("istft", FULL, 8)],
    *[case("istft", FULL, 8, onesided=False, return_complex=True)],
    *[
        case(name, x, *arguments)
        for name in ("fft_hfft2", "fft_hfftn", "fft_ihfft2", "fft_ihfftn")
        for x in LAYOUTS
        for arguments in ((), ([4, 6], [0, 2]), ([4, 6], [2, 0]), (None, [1]))
    ],
]
