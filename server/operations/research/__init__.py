"""Operations of the research tools: projects, passages with their citation facts, what the index holds."""
