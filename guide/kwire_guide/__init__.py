"""The protocol guide: a static site of every message in every version, made from schema, layouts and history."""
