"""Packets as they arrive: captures on interfaces, and reports that are renewed while packets come."""
