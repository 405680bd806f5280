"""Claims: what agents wrote down about documents, with evidence that the server has checked."""
