"""Commands for maintainers that bring new releases of Kafka; nothing of it is part of the package."""
