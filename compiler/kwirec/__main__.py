"""The entry point for ``python -m kwirec`` and the ``kwirec`` command."""

from __future__ import annotations

import sys

from kwirec.diagnostics.columns import printable


def main() -> None:
    """Run the command line, or exit with a hint if the compiler's dependencies are not installed."""
    try:
        from kwirec.command import main as run

        run(prog_name="kwirec")
    except ModuleNotFoundError as problem:
        if problem.name not in ("black", "click", "jinja2", "rich"):
            raise
        sys.exit(f"kwirec needs {problem.name}: pip install 'kwire[compiler]'")
    except OSError as problem:
        print(f"kwirec: {printable(str(problem))}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
