"""The door: one module a command."""
