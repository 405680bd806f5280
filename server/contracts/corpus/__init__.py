"""The arguments and the answers of the operations that read whole documents and all text, a file for each."""
