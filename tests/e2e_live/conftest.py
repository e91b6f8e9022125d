"""Live traffic of real brokers and programs: runs with ``make e2e-live`` only, a few minutes."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("KWIRE_E2E_LIVE") == "1" else ["test_*.py"]
