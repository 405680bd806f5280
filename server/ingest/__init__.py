"""Documents into the index: what a source holds now, the resumable pipeline, and the children that read files."""
