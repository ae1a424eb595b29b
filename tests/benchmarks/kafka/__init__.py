"""Topics of Kafka against the same lines in files, and against Structured Streaming from the topic."""
