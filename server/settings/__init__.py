"""Sources of settings, permissions to set them, and addresses of servers."""
