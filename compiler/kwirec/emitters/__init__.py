"""Turns a schema and its layouts into files: ``emit`` returns artifacts and ``write`` saves them."""
