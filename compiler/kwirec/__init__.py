"""The kwire compiler."""
