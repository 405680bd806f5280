# fence: rejected | walls: -
import doctest
def own():
    """
    >>> print("BREACHED", file=__import__("sys").__stdout__)
    """
doctest.run_docstring_examples(own, {})
