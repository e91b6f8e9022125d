"""Tables derived from those of the sources, as functions on DataFrames."""
