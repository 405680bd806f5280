"""Access keys of HTTP clients: their records, the file that holds them, and their verification."""
