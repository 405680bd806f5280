"""Commands over all documents: ``winnow scan``, ``winnow documents`` and ``winnow read``."""
