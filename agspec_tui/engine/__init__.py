"""DECODE: the loop that drafts, verifies and commits, its backends, and the process it runs in."""
