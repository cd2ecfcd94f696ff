"""NumPy dispatch: arrays of values that only a call tells, and what NumPy does with them.

`tensor.numpy()` gives an `AbstractArray` over an alias of the tensor; NumPy's own protocols
(`__array_ufunc__`, `__array_function__`, NEP 13 and 18) hand its functions over to `UFUNCS` and
`FUNCTIONS`, which record operators. Dtypes are NumPy's: its loops and its functions are asked, on
ones. What is not in the tables, or asked for with an option that they lack, reads values.
"""

from monograph.capture.numpy_arrays import functions, ufuncs
from monograph.capture.numpy_arrays.abstract_array import AbstractArray
from monograph.capture.numpy_arrays.array_constructors import (
    array_of,
    is_abstract,
    tensor_of,
    ufunc_of_tensors,
)
from monograph.capture.numpy_arrays.dispatch import UFUNCS
from monograph.capture.numpy_arrays.dtypes import TO_NUMPY

__all__ = [
    "TO_NUMPY",
    "UFUNCS",
    "AbstractArray",
    "array_of",
    "functions",
    "is_abstract",
    "tensor_of",
    "ufunc_of_tensors",
    "ufuncs",
]
