"""Orders and what they cost."""


def calc(order):
    """Sum of price times count, less the discount in per cent."""
    total = sum(line["price"] * line["count"] for line in order["lines"])
    return total * (100 - order.get("discount", 0)) / 100


def is_large(order):
    """Whether an order needs a second signature."""
    return calc(order) >= 1000
