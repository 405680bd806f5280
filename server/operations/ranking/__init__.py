"""From a question to ranked passages: scope, candidates, reordering and reranking."""
