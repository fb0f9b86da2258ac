"""EMIT: one module an edit form, and the applier that lands an edit exactly or refuses it."""
