"""Where points lie on a Hilbert curve: quasi-identifiers to one dimension, so that near on the line is near in all.

Skilling's transpose algorithm (Programming the Hilbert curve, 2004), on all points at once: for every bit and every
dimension one step of numpy. Only publishing calls it: a macro over a Python function fails in every other client.
"""

from __future__ import annotations

from itertools import pairwise

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from duckdb.func import PythonUDFType

HILBERT = "__priv_hilbert"
KEY_BITS = 63
"""What fits a BIGINT that is not negative."""

Numbers = npt.NDArray[np.int64]


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Let DuckDB find positions; once is enough for a database, and DuckDB 1.5 refuses a second registration."""
    if con.execute(f"SELECT 1 FROM duckdb_functions() WHERE function_name = '{HILBERT}'").fetchall():
        return
    con.create_function(HILBERT, _positions, [duckdb.list_type("BIGINT"), "BIGINT"], "BIGINT", type=PythonUDFType.ARROW)


def bits_for(dimensions: int) -> int:
    """How many bits of each dimension the key has room for: the more dimensions, the fewer.

    >>> bits_for(1), bits_for(4), bits_for(9), bits_for(63)
    (31, 15, 7, 1)
    """
    return min(31, KEY_BITS // dimensions)


def _positions(points: pa.ChunkedArray, bits: pa.ChunkedArray) -> pa.Array:
    """The Arrow face of `positions`: lists of one length, and the same number of bits for all."""
    count = len(points)
    if count == 0:
        return arrow_of(np.zeros(0, dtype=np.int64))
    flat = pa.concat_arrays(points.chunks).flatten()
    cells = np.frombuffer(flat.buffers()[1], dtype=np.int64)[flat.offset : flat.offset + len(flat)]
    return arrow_of(positions(cells.reshape(count, -1), int(bits[0].as_py())))


def arrow_of(numbers: Numbers) -> pa.Array:
    """The numbers as Arrow has them. By pa.array and to_numpy pandas would be imported, which takes a second.

    >>> arrow_of(np.array([3, 4])).to_pylist()
    [3, 4]
    """
    plain = np.ascontiguousarray(numbers, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(plain), [None, pa.py_buffer(plain)])


def positions(cells: Numbers, bits: int) -> Numbers:
    """The place of each row of `cells` on the curve through the grid of 2^bits cells in every dimension.

    >>> positions(np.array([[0, 0], [0, 1], [1, 1], [1, 0]]), 1).tolist()
    [0, 1, 2, 3]
    """
    axes = [column.copy() for column in np.asarray(cells, dtype=np.int64).T]
    if bits < 1 or bits * len(axes) > KEY_BITS:
        raise ValueError(f"{len(axes)} dimensions of {bits} bits do not fit {KEY_BITS} bits")
    if any(len(a) and (a.min() < 0 or a.max() >> bits) for a in axes):
        raise ValueError(f"a cell lies outside the grid of {bits} bits")
    _undo_rotations(axes, bits)
    _gray_encode(axes, bits)
    key = np.zeros(len(cells), dtype=np.int64)
    for bit in range(bits - 1, -1, -1):
        for axis in axes:
            key = (key << 1) | ((axis >> bit) & 1)
    return key


def _undo_rotations(axes: list[Numbers], bits: int) -> None:
    """From the largest cubes to the smallest: take back how the curve is turned in each."""
    for bit in range(bits - 1, 0, -1):
        lower = (1 << bit) - 1
        for number, axis in enumerate(axes):
            is_set = (axis >> bit) & 1 == 1
            # Where the bit is set the first axis is mirrored, elsewhere it changes places with this one.
            swapped = np.where(is_set, 0, (axes[0] ^ axis) & lower)
            axes[0] ^= np.where(is_set, lower, swapped)
            if number:
                axes[number] ^= swapped


def _gray_encode(axes: list[Numbers], bits: int) -> None:
    for before, after in pairwise(range(len(axes))):
        axes[after] ^= axes[before]
    flips = np.zeros_like(axes[0])
    for bit in range(bits - 1, 0, -1):
        flips ^= np.where((axes[-1] >> bit) & 1 == 1, (1 << bit) - 1, 0)
    for number in range(len(axes)):
        axes[number] ^= flips
