"""Which files of a source are documents, and which deletions are held back."""
