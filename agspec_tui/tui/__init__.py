"""SHOW: the Textual app. Reads events, sends commands, computes nothing an event carries."""
