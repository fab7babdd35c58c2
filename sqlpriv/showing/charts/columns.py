"""What each column lost by generalization, of 1 where all of it is gone."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlpriv.showing.charts.data import Data, altair
from sqlpriv.showing.charts.look import BLUE, Rows
from sqlpriv.showing.charts.picture import Picture

_ROW = 26


def columns_picture(rows: Rows) -> Picture:
    """Rows have column, loss and level."""
    worst = max(rows, key=lambda row: float(row["loss"]))
    said = f"How much of each column is lost, from 0 (as it was) to 1 (all of it). Most is lost of {worst['column']}."
    return Picture("Loss by column", said, rows, partial(_chart, rows))


def _chart(rows: Rows) -> Any:
    alt, data = altair(), Data(rows)
    encoded = {
        "y": alt.Y(data.field("column"), title=None, sort=None, axis=alt.Axis(labelLimit=200)),
        "x": alt.X(data.field("loss"), title="loss", scale=alt.Scale(domain=[0, 1])),
        "tooltip": data.tips(),
    }
    return alt.Chart(data.values).mark_bar(color=BLUE).encode(**encoded).properties(height=40 + _ROW * len(rows))
