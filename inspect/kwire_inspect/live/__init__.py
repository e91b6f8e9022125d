"""Packets as they arrive: captured from interfaces, and reports that are renewed while they come."""
