"""What a Kafka cluster leaves behind, as tables: captures, log segments, request logs and server logs, in Spark."""
