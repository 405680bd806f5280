"""The targets of `make fuzz`. A target is a module of this package with two functions:

``check(data)`` takes any bytes and raises AssertionError where a promise is broken; any other exception is a
finding as well. ``seeds()`` gives inputs to start from, for an engine that grows its inputs.
"""

NAMES = ("policy", "programs", "semantics", "frames", "results", "ingest")
