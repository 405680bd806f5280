"""The keys of a server's clients, and the options of serving HTTP."""
