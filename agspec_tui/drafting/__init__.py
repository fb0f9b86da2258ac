"""PROPOSE: corpora and drafters. Knows token ids; knows nothing of caches, sampling or screens."""
