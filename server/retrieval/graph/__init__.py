"""The knowledge graph: its records, the protocol of graph stores, and algorithms over a graph in memory."""
