"""Retrieval: query parsing, the dense and the lexical leg, their fusion, graph expansion, evaluation."""
