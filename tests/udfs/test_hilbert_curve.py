"""The Hilbert curve goes through every cell once, from each to one beside it."""

import itertools

import duckdb
import numpy as np
import pytest
from sqlpriv.udfs.hilbert import HILBERT, bits_for, positions, register

GRIDS = [(1, 4), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2), (7, 1)]


def grid(dimensions: int, bits: int) -> np.ndarray:
    return np.array(list(itertools.product(range(2**bits), repeat=dimensions)))


@pytest.mark.parametrize(("dimensions", "bits"), GRIDS)
def test_every_cell_has_a_place_of_its_own(dimensions: int, bits: int) -> None:
    cells = grid(dimensions, bits)
    assert sorted(positions(cells, bits)) == list(range(len(cells)))


@pytest.mark.parametrize(("dimensions", "bits"), GRIDS)
def test_neighbours_on_the_curve_differ_by_one_step_in_one_dimension(dimensions: int, bits: int) -> None:
    cells = grid(dimensions, bits)
    along = cells[np.argsort(positions(cells, bits))]
    assert (np.abs(np.diff(along, axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("dimensions", [1, 2, 4, 9, 20, 63])
def test_keys_fit_whatever_the_number_of_dimensions(dimensions: int) -> None:
    bits = bits_for(dimensions)
    corners = np.array([[0] * dimensions, [2**bits - 1] * dimensions, [2**bits - 1] + [0] * (dimensions - 1)])
    found = positions(corners, bits)
    assert found[0] == 0
    assert (found >= 0).all()
    assert len(set(found)) == 3 - (dimensions == 1)
    # The curve ends beside where it starts: in the far corner of the first dimension.
    assert found.max() == found[2] == 2 ** (bits * dimensions) - 1


def test_duckdb_finds_the_same_places() -> None:
    cells = grid(3, 3)
    with duckdb.connect() as con:
        register(con)
        register(con)
        values = ", ".join(f"({row.tolist()})" for row in cells)
        found = con.execute(f"SELECT {HILBERT}(cell, 3) FROM (VALUES {values}) AS t(cell)").fetchall()
        none = con.execute(f"SELECT {HILBERT}(cell, 3) FROM (VALUES ([1, 2])) AS t(cell) WHERE cell[1] > 1").fetchall()
    assert [row[0] for row in found] == positions(cells, 3).tolist()
    assert none == []


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the grid"):
        positions(np.array([[0, 4]]), 2)
    with pytest.raises(ValueError, match="do not fit 63 bits"):
        positions(np.zeros((1, 32), dtype=np.int64), 2)
