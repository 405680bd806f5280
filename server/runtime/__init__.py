"""Services of a running server: deadlines, threads, caches, metrics, logs and the audit log."""
