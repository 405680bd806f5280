"""What every call uses while the server runs: deadlines, threads, caches, metrics, logs and the audit file."""
