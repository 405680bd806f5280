"""Files to documents, documents to chunks and entities; and the program of the children that parse files."""
