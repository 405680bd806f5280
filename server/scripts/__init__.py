"""Scripts over the knowledge base: their allowance, their calls, and the skills they may import."""
