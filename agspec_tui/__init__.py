"""A terminal workspace where local coding agents fix issues and draft their own next tokens."""

__version__ = "0.1.0"
