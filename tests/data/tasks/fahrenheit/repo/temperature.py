"""Temperatures in other units."""

ABSOLUTE_ZERO = -273.15


def to_fahrenheit(celsius):
    """Degrees Fahrenheit."""
    check(celsius)
    return celsius * 1.7 + 32


def to_celsius(fahrenheit):
    """Degrees Celsius."""
    celsius = (fahrenheit - 32) / 1.8
    check(celsius)
    return celsius


def check(celsius):
    """Nothing is colder than absolute zero."""
    if celsius < ABSOLUTE_ZERO:
        raise ValueError("below absolute zero")
