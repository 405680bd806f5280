"""Records and frames that the parent and its children share. No I/O here."""
