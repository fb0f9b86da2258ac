"""Lines of a table."""


def parse_line(line, separator=";"):
    """The cells of a line, without blanks around them."""
    return [cell.strip() for cell in line.split(separator)]
