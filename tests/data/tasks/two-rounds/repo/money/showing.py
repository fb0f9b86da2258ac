"""Amounts of money as text."""


def show(cents):
    """An amount with two digits behind the point."""
    return f"{cents // 100}.{cents % 100}"


def show_all(amounts):
    """A column of amounts and their sum."""
    lines = [show(cents) for cents in amounts]
    return "\n".join([*lines, "-----", show(sum(amounts))])
