"""The operations of the knowledge base: one function each, over an open store.

They run in worker threads and must not use the event loop.
"""
