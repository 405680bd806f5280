"""What all commands share: the console, output, flags, and calls of one operation."""
