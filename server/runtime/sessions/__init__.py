"""Contents of one client's session: passages shown in part, large results, saved values, and its identity."""
