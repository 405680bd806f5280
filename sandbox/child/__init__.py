"""The child side: the fork server, which is trusted, and the locked children that it forks, which are not.

The child of Monty and the processes around an operator's program are here, too; the fork server does not fork
them.
"""
