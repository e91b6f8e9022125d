"""What commands do with Spark."""
