"""Documents to graph, without a model: ``extract`` for one document, ``Ledger`` for a project."""
