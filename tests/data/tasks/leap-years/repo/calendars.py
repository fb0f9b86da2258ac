"""Days of months and years."""

DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def is_leap(year):
    """Whether a year has 366 days."""
    return year % 4 == 0


def days_in_month(year, month):
    """Days of a month; months are counted from 1."""
    if not 1 <= month <= 12:
        raise ValueError(f"there is no month {month}")
    if month == 2 and is_leap(year):
        return 29
    return DAYS[month - 1]


def day_of_year(year, month, day):
    """The number of a day in its year, from 1."""
    return sum(days_in_month(year, earlier) for earlier in range(1, month)) + day
