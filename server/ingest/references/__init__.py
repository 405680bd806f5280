"""An ingest with a bibliography: the entry of each document, and documents of entries without a file."""
