"""The pages of an HTTP server for its operator, and its end without a lost answer."""
