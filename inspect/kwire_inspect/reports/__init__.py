"""Reports on readiness for a release, API usage, latency, and committed offsets."""
