"""From schema and layouts to files: ``emit`` gives artifacts, ``write`` brings them to disk."""
