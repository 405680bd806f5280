"""What one client's session holds: passages shown in part, results too large to send, and its identity."""
