"""What of PyTorch's databases is refused, by which diagnostic, and what is right but narrow.

An entry leaves its list when it agrees with eager; `test_operators.py` holds both lists.
"""

REFUSED_BY = {
    # A plain Python answer from data.
    "nn.functional.gaussian_nll_loss": "data-dependent-branch",
    "nn.GaussianNLLLoss": "data-dependent-branch",
    # A plain number from data, which C++ takes: `momentum=None` counts the batches.
    "nn.BatchNorm1d[train]": "specialized-value",
    "nn.BatchNorm2d[train]": "specialized-value",
    "nn.BatchNorm3d[train]": "specialized-value",
    # The number of results is in a tensor.
    "tensor_split": "data-dependent-size",
    # Results of other shapes for matrices of other ranks, by two of four drivers.
    "linalg.lstsq": "unsupported-operator",
    "linalg.lstsq[grad_oriented]": "unsupported-operator",
    # Layouts other than strided.
    "sparse.mm[reduce]": "unsupported-layout",
    "sparse.sampled_addmm": "unsupported-layout",
    "to_sparse": "unsupported-layout",
    # The fast path for padded sequences makes nested tensors.
    "nn.Transformer": "data-dependent-branch",
    "nn.TransformerEncoder[eval]": "data-dependent-branch",
    "nn.TransformerEncoder[train]": "data-dependent-branch",
}

_BY_COUNT = "how many results there are is one of the sizes"
_BY_LENIENCE = "eager reads statistics of more channels than there are"
_BY_CODE = "Python inside PyTorch asks about the sizes"
_BY_SCHEMA = "the operator takes plain numbers, and Python gives it the sizes"
_BY_FORMULA = "the formula that PyTorch has for the operator asks about the sizes"

_BY_SHAPE = "with more rows than columns there are residuals, and else none"
_BY_LAYOUT = "what lies apart in memory is copied at every length but the one where it lies in step"
_BY_NOTHING = "eager does not look at matrices of which there are none"

NARROWER = {
    "_batch_norm_with_update": _BY_LENIENCE,
    "_native_batch_norm_legit": _BY_LENIENCE,
    "cholesky": _BY_NOTHING,
    "chunk": _BY_COUNT,
    "gradient": "sizes of 3 for each of which it is given coordinates",
    "linalg.lstsq": _BY_SHAPE,
    "linalg.lstsq[grad_oriented]": _BY_SHAPE,
    "masked.amax": _BY_CODE,
    "masked.amin": _BY_CODE,
    "masked.argmax": _BY_CODE,
    "masked.argmin": _BY_CODE,
    "masked.cumprod": _BY_CODE,
    "masked.cumsum": _BY_CODE,
    "masked.logaddexp": _BY_CODE,
    "masked.log_softmax": _BY_CODE,
    "masked.logsumexp": _BY_CODE,
    "masked.mean": _BY_CODE,
    "masked.median": _BY_CODE,
    "masked.norm": _BY_CODE,
    "masked.prod": _BY_CODE,
    "masked.softmax": _BY_CODE,
    "masked.softmin": _BY_CODE,
    "masked.std": _BY_CODE,
    "masked.sum": _BY_CODE,
    "masked.var": _BY_CODE,
    "native_batch_norm": _BY_LENIENCE,
    "nn.AdaptiveMaxPool2d": _BY_SCHEMA,
    "nn.AdaptiveMaxPool3d": _BY_SCHEMA,
    "nn.FractionalMaxPool2d": _BY_CODE,
    "nn.FractionalMaxPool3d": _BY_CODE,
    "nn.LinearCrossEntropyLoss": _BY_CODE,
    "nn.functional.adaptive_max_pool2d": _BY_SCHEMA,
    "nn.functional.adaptive_max_pool3d": _BY_SCHEMA,
    "nn.functional.embedding_bag": _BY_LAYOUT,
    "nn.functional.fractional_max_pool2d": _BY_CODE,
    "nn.functional.fractional_max_pool3d": _BY_CODE,
    "nn.functional.interpolate[area]": _BY_CODE,
    "nn.functional.linear_cross_entropy[chunked]": _BY_CODE,
    "nn.functional.linear_cross_entropy[chunked_none]": _BY_CODE,
    "pca_lowrank": _BY_CODE,
    "svd_lowrank": _BY_CODE,
    "unbind": _BY_COUNT,
    "unbind_copy": _BY_COUNT,
    "unsafe_chunk": _BY_COUNT,
    "view_copy": _BY_FORMULA,
    **{
        f"nn.InstanceNorm{n}d[{mode}]": "its weights may make one of what sizes of 1 leave alone"
        for n in (1, 2, 3)
        for mode in ("train", "eval")
    },
}
