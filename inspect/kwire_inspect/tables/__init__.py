"""Tables derived from the tables of the sources, as functions on tables of any engine."""
