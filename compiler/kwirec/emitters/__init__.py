"""From schema and layouts to files: ``emit`` returns artifacts, ``write`` saves them."""
