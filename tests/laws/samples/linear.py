"""Products that PyTorch's own samples do not reach, of operands in every layout."""

from tests.laws.samples.pointwise import CHANNELS_LAST, case, floats

X = floats(2, 3, 4, 5)
LAYOUTS = (X, CHANNELS_LAST, X.mT.contiguous().mT, floats(2, 1, 4, 5).expand(2, 3, 4, 5))
EQUATIONS = (
    *(("ij,jk->ik", (2, 3), (3, 4)), ("ij,kj->ki", (2, 3), (4, 3)), ("ii->i", (3, 3))),
    *(("ii->", (3, 3)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3))),
    *(("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bkj->bki", (2, 3, 4), (2, 5, 4))),
    *(("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 4, 5)), ("i,j->ij", (3,), (4,))),
    *(("bhqk,bkhd->bqhd", (2, 4, 3, 6), (2, 6, 4, 5)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5))),
    *(("...i,...i->...", (2, 3), (2, 3)), ("bi,bj,bk->ijk", (2, 3), (2, 4), (2, 5))),
    *(("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)), ("ij,jk", (2, 3), (3, 4)), ("i,i", (3,), (3,))),
    *(("...,...->...", (2, 1, 3), (4, 3)), ("ij...,jk...->ik...", (2, 3, 4), (3, 5, 1))),
    *(("abd,c->bdc", (2, 3, 4), (5,)), ("bi,bj->ij", (2, 3), (2, 4)), ("ba,b->a", (2, 3), (2,))),
    *(("ij,ij->ij", (2, 3), (2, 3)), ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)), ("iij->j", (3, 3, 2))),
    *(
        ("iij,jk->ik", (3, 3, 2), (2, 4)),
        ("abcd,cd->ba", (2, 3, 4, 5), (4, 5)),
        ("ij,jk->", (2, 3), (3, 4)),
    ),
    *(
        ("bij,jk->bik", (2, 3, 4), (1, 5)),
        ("bij,bjk->ikb", (1, 3, 4), (1, 4, 5)),
        ("...->...", (2, 3)),
    ),
)


def turned(x):
    """The same shape, column by column in memory."""
    return x.permute(*reversed(range(x.dim()))).contiguous().permute(*reversed(range(x.dim())))


SAMPLES = [
    *[case("einsum", equation, [floats(*s) for s in shapes]) for equation, *shapes in EQUATIONS],
    *[
        case("einsum", equation, [turned(floats(*s)) for s in shapes])
        for equation, *shapes in EQUATIONS
    ],
    case("einsum", "ij,jk,kl->il", [floats(2, 3), floats(3, 4), floats(4, 5)], path=[1, 2, 0, 1]),
    *[case("matmul", x, y) for x in LAYOUTS for y in (floats(5, 6), floats(5), floats(3, 5, 6))],
    *[case("matmul", y, x) for x in LAYOUTS for y in (floats(7, 4), floats(4), floats(3, 7, 4))],
    *[case("linear", x, floats(6, 5), floats(6)) for x in LAYOUTS],
    *[case("linear", floats(5), floats(6, 5)), case("linear", floats(2, 5), floats(5), floats())],
    *[case("tensordot", x, x, [1], [1]) for x in LAYOUTS],
    *[case("tensordot", floats(2, 1), floats(3, 4), [1], [0])],
    *[case("kron", x, y) for x in LAYOUTS[:3] for y in (x, floats(2), floats(2, 3).t())],
    *[case("inner", x, floats(2, 5)) for x in (*LAYOUTS, floats())],
    *[case("bilinear", x, x, floats(6, 5, 5)) for x in LAYOUTS],
    *[
        case("ger", floats(2), floats(3)),
        case("chain_matmul", [floats(2, 3), floats(3, 4), floats(4, 5)]),
    ],
    *[case("linalg_multi_dot", [floats(3), floats(3, 4), floats(4)])],
    *[case("addmm", floats(*s), floats(2, 3), floats(3, 4)) for s in ((4,), (2, 1), (), (2, 4))],
    *[case("addmv", floats(*s), floats(2, 3), floats(3)) for s in ((), (1,), (2,))],
    *[case("addmv", floats(1), floats(0, 3), floats(3)), case("dot", floats(3), floats(3))],
]
