"""Access to a server over HTTP: keys, addresses, back-off after wrong keys."""
