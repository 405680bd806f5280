"""Libraries of Zotero in the index: each is a source, whose documents are files, notes, annotations and works."""
