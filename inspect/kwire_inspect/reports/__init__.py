"""Reports on readiness for a release, usage of APIs, latency, and committed offsets."""
