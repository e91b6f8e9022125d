"""The protocol guide: a static site of every message version, built from the schema, layouts and history."""
