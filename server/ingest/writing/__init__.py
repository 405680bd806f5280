"""What an ingest writes: batches of changed documents, their embedding, and both stores in step."""
