"""MEASURE: recorded sessions, trace-driven simulation. Needs no model weights."""
