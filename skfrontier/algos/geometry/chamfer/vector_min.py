"""The lesser of two floats as one LLVM instruction, which a loop can turn into vector minima."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def _vector_min(typing_context, a, b):
    """Return the lesser of two floats of one type, neither of them NaN.

    ``min(a, b)`` and ``a if a < b else b`` compile to a comparison and a selection without the
    fast-math flags that LLVM needs to see a minimum in them: a running minimum then stays scalar,
    four times slower.
    """
    if not (isinstance(a, types.Float) and a == b):
        return None

    def lower_call(context, builder, signature, arguments):
        kind = arguments[0].type
        function = builder.module.declare_intrinsic(
            "llvm.minnum", [kind], ir.FunctionType(kind, [kind, kind])
        )
        return builder.call(function, arguments)

    return a(a, b), lower_call


vector_min: Any = _vector_min  # called from kernels, without the first parameter
