"""The child side: the fork server, which is trusted, and the locked children that it forks, which are not."""
