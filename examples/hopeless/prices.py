"""Prices in whole coins."""


def round_price(price):
    """The price as a whole number of coins."""
    return round(price)


def with_tax(price, percent):
    """The price with tax on top, in whole coins."""
    return round_price(price * (100 + percent) / 100)


def total(prices):
    """The sum of prices, each rounded."""
    return sum(round_price(price) for price in prices)
