"""Shapes with a colour."""


class Shape:
    """Something with a name and a colour."""

    def __init__(self, name, color="black"):
        self.name = name
        self.color = color

    def describe(self):
        """A few words about it."""
        return f"a {self.color} {self.name}"

    def like(self, name):
        """Another shape of the same colour."""
        return Shape(name, color=self.color)


def by_color(shapes):
    """Names of shapes by their colour."""
    found = {}
    for shape in shapes:
        found.setdefault(shape.color, []).append(shape.name)
    return found
