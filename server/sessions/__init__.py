"""What one client's session holds: passages shown in part, large results, saved values, and its identity."""
