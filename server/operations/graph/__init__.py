"""Operations over the knowledge graph."""
