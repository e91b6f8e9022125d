"""Tables that follow from what the sources give, as functions on DataFrames."""
