"""Entry point of ``python -m kwire``, which runs the ``kwire`` command."""

from __future__ import annotations

import sys

from kwire.command import main

if __name__ == "__main__":
    sys.exit(main())
