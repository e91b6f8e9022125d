"""Clients that other people wrote against the fake broker. Runs with ``make fake-clients`` only."""

import os

collect_ignore_glob = [] if os.environ.get("KWIRE_FAKE_CLIENTS") == "1" else ["test_*.py"]
