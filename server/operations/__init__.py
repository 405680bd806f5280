"""What the knowledge base does when it is asked: one function per operation, over an open library.

They run in worker threads: no event loop in here.
"""
