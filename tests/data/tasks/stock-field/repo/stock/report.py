"""What is left in the warehouse."""


def total(rows):
    """How many pieces there are in all."""
    return sum(row["qty"] for row in rows)


def low(rows, limit):
    """Names of what there are fewer than `limit` of."""
    return sorted(row["name"] for row in rows if row["qty"] < limit)
