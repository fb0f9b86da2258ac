"""What it costs to send an order."""

FREE_FROM = 50.00
STANDARD = 4.90
EXPRESS = 9.90


def shipping_cost(order_total, express=False):
    """Cost of sending an order; standard shipping is free from FREE_FROM upwards."""
    if order_total < 0:
        raise ValueError("an order cannot be negative")
    if express:
        return EXPRESS
    if order_total > FREE_FROM:
        return 0.0
    return STANDARD


def missing_for_free_shipping(order_total):
    """How much more has to be ordered until shipping is free."""
    return max(0.0, FREE_FROM - order_total)
