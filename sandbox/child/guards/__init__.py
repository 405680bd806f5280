"""Guards between a script and the objects that it touches while it runs, one module for each kind of access."""
