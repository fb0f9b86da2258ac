"""Grades of a course."""


def average(grades):
    """Mean of the grades; None if there are none."""
    return sum(grades) / len(grades)


def best(grades):
    """The best grade; None if there are none."""
    return min(grades) if grades else None


def report(course, grades):
    """One line about a course."""
    mean = average(grades)
    return f"{course}: {mean:.1f} (best {best(grades)})"
