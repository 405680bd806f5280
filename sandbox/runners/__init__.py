"""What runs scripts: the fork server, single child processes, Monty; and the table of them."""
