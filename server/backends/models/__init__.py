"""Embedding and reranking models, one vendor per file; embedders.py has the table of them."""
