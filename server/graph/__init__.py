"""The knowledge graph: what belongs to what, what mentions what, and how two things connect."""
