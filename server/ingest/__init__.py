"""Files to chunks to index: readers, chunking, the resumable pipeline."""
