"""Factorisations that PyTorch's own samples do not reach, in every layout."""

import torch

from tests.laws.samples.linear import turned
from tests.laws.samples.pointwise import case, floats

SQUARE = 2 * torch.eye(4).repeat(2, 1, 1) + floats(2, 4, 4)
SQUARES = (SQUARE, turned(SQUARE), SQUARE[0], SQUARE[:0])
WIDE = floats(2, 3, 5)
SMALL = torch.tensor(0.1)
TALL = torch.eye(5, 3).repeat(2, 1, 1)
NAMES = (
    *(
        "linalg_eig",
        "linalg_inv",
        "linalg_inv_ex",
        "cholesky",
        "linalg_cholesky",
        "linalg_cholesky_ex",
    ),
    *(
        "linalg_eig",
        "linalg_det",
        "_linalg_det",
        "linalg_slogdet",
        "_linalg_slogdet",
        "linalg_eigh",
        "_linalg_eigh",
    ),
)

SAMPLES = [
    *[case(name, x) for name in NAMES for x in SQUARES],
    *[case("linalg_qr", x, mode) for x in (WIDE, WIDE.mT) for mode in ("reduced", "complete", "r")],
    *[case("linalg_svd", x, full) for x in (WIDE, WIDE.mT) for full in (True, False)],
    *[case("_linalg_svd", WIDE, False, False), case("_linalg_eigh", SQUARE, "U", False)],
    *[
        case(name, a, b)
        for name in ("linalg_solve", "linalg_solve_ex", "_linalg_solve_ex")
        for a in (SQUARE, turned(SQUARE))
        for b in (floats(2, 4, 3), floats(2, 4), floats(4, 3), floats(4), floats(3, 1, 4, 2))
    ],
    *[case("linalg_solve", SQUARE, floats(2, 3, 4), left=False)],
    *[
        case(name, x, n)
        for name in ("linalg_matrix_power", "matrix_power")
        for x in SQUARES
        for n in (-2, -1, 0, 1, 2, 3, 4)
    ],
    *[
        case(name, x, *arguments)
        for name, *arguments in (
            *(("linalg_matrix_rank", 0.1), ("linalg_matrix_rank.atol_rtol_float",)),
            *(("linalg_matrix_rank.tol_tensor", SMALL), ("linalg_pinv.rcond_tensor", SMALL)),
            *(("linalg_matrix_rank.atol_rtol_tensor",), ("linalg_pinv.atol_rtol_tensor",)),
            *(("linalg_pinv", 0.1), ("linalg_pinv.atol_rtol_float",), ("pinverse",)),
        )
        for x in (WIDE, WIDE.mT, turned(WIDE), WIDE[0])
    ],
    *[
        case(f"linalg_{name}.atol_rtol_tensor", WIDE, atol=SMALL, rtol=floats(2))
        for name in ("matrix_rank", "pinv")
    ],
    *[case("geqrf", x) for x in (WIDE, WIDE.mT, turned(WIDE), WIDE[0])],
    *[
        case("linalg_lstsq", a, b, driver=driver)
        for driver in (None, "gels", "gelsd")
        for a, b in (
            *((WIDE, floats(2, 3, 4)), (turned(WIDE), floats(2, 3)), (WIDE[0], floats(3))),
            (WIDE[0], floats(3, 1)),
        )
    ],
    *[
        case("linalg_lstsq", a, b, driver=driver)
        for driver in (None, "gels")
        for a, b in (
            *((TALL, floats(2, 5, 4)), (TALL, floats(2, 5)), (TALL[0], floats(5))),
            (TALL[0], floats(5, 2)),
        )
    ],
]
