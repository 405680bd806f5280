"""Writing of an ingest: batches of changed documents, their embedding, and both stores in step."""
