"""Ask the processor for a row before it is needed."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import intrinsic

_CACHE_LINE = 64  # bytes


@intrinsic
def _prefetch_row(typing_context, X, i):
    """Prefetch the cache lines of row ``i`` of the 2-D array ``X``; reads nothing, changes nothing.

    Rows visited in an order that looks random are otherwise waited for one after the other.
    """
    if not (isinstance(X, types.Array) and X.ndim == 2 and isinstance(i, types.Integer)):
        return None

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        shape = cgutils.unpack_tuple(builder, array.shape)
        strides = cgutils.unpack_tuple(builder, array.strides)
        row = context.cast(builder, args[1], signature.args[1], types.intp)
        base = builder.ptrtoint(array.data, ir.IntType(64))
        start = builder.add(base, builder.mul(row, strides[0]))
        length = builder.mul(shape[1], strides[1])
        byte_pointer = ir.IntType(8).as_pointer()
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer] + [ir.IntType(32)] * 3),
            "llvm.prefetch.p0i8",
        )
        flags = [ir.Constant(ir.IntType(32), flag) for flag in (0, 3, 1)]  # read, keep, data
        step = ir.Constant(ir.IntType(64), _CACHE_LINE)
        with cgutils.for_range_slice(builder, ir.Constant(ir.IntType(64), 0), length, step) as (
            offset,
            _,
        ):
            address = builder.inttoptr(builder.add(start, offset), byte_pointer)
            builder.call(function, [address, *flags])
        return context.get_dummy_value()

    return signature(types.void, X, i), codegen


prefetch_row: Any = _prefetch_row  # without the typing context, which only numba passes
