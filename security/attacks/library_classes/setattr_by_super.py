# fence: rejected | walls: -
from contextlib import AbstractContextManager, contextmanager

@contextmanager
def held():
    yield "held"

manager = held()
super(AbstractContextManager, manager).__setattr__("gen", iter(["BREACHED"]))
print(manager.__enter__())
