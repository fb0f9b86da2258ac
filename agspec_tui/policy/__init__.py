"""DECIDE: how long a draft may be. Numbers in, numbers out."""
