"""Entity and relation extraction without a model: ``build_document_graph`` and the project's ``Ledger``."""
