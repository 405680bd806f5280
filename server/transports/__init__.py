"""How a client reaches the server: stdio and HTTP."""
