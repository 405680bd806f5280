"""The child side: the fork server, which is trusted, and the locked children that it forks, which are not.

The child of Monty and the processes around programs of the operator are here, too; no fork server forks them.
"""
