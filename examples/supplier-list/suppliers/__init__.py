"""The suppliers of a shop."""

from suppliers.directory import SupplierList
from suppliers.parse import ParseError, Supplier, parse_line, parse_text

__all__ = ["ParseError", "Supplier", "SupplierList", "parse_line", "parse_text"]
