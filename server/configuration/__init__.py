"""Where settings come from and who may set them; addresses of servers."""
