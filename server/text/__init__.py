"""Plain text functions: printable characters, marks of foreign lines, filters, sizes; words, quotes and markup."""
