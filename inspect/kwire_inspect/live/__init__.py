"""Processes packets as they arrive: captures on network interfaces, and reports that are renewed meanwhile."""
