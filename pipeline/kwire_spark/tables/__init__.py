"""Tables derived from what the sources give, as functions on DataFrames."""
