"""Operations over all documents in scope: exhaustive, never a ranking, and they say whether they were complete."""
