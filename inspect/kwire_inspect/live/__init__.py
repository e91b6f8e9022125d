"""Captures packets on network interfaces, and writes them to files as they arrive."""
