"""Baskets of a shop."""


class Basket:
    """Things and how many of each."""

    def __init__(self, owner, items={}):
        self.owner = owner
        self.items = items

    def put(self, name, count=1):
        """Put a thing into the basket."""
        if count < 1:
            raise ValueError("count must be at least 1")
        self.items[name] = self.items.get(name, 0) + count

    def take(self, name):
        """Take all of a thing out again; returns how many there were."""
        return self.items.pop(name, 0)

    def total(self, prices):
        """What everything costs."""
        return sum(prices[name] * count for name, count in self.items.items())
