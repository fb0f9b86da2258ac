"""Invoices of orders."""

from orders import calc


def invoice(order):
    """Text of an invoice."""
    lines = [f"{line['count']} x {line['name']}" for line in order["lines"]]
    lines.append(f"total: {calc(order):.2f}")
    return "\n".join(lines)
