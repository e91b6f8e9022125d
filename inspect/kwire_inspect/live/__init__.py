"""Processes packets as they arrive, with captures on network interfaces and continually updated reports."""
