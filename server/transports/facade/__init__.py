"""The tools over plain HTTP and over LSP framing, each answer in one envelope."""
