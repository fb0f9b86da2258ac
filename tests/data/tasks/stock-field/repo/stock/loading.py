"""Reads the rows of the warehouse."""

import csv
import io


def load(text):
    """Rows of a CSV text; numbers are made integers."""
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        row["qty"] = int(row["qty"])
        rows.append(row)
    return rows
