"""WORK: roles, turns, tools, approvals, undo. Runs headless; knows no screen."""
