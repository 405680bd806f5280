"""Plain text functions: sentences, spans, tokens, printable characters, and the mark before foreign lines."""
