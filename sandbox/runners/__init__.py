"""Runners of scripts: the fork server, single child processes, Monty; and the table of them."""
