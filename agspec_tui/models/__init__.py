"""FETCH: the catalogue, verified downloads, GGUF headers and the memory plan."""
