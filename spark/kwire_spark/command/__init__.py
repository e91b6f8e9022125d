"""Commands that use Spark."""
