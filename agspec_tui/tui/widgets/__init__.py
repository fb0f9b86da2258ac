"""Parts of a screen, one widget a file."""
