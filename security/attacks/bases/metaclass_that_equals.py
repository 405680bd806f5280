# fence: rejected | walls: -
from abc import ABCMeta
from collections import Counter

class Meta:
    def __hash__(self):
        return hash(ABCMeta)
    def __eq__(self, other):
        return True
    def __call__(self, name, bases, namespace):
        print("BREACHED" if "body" in namespace else "")

class Made(metaclass=Meta()):
    body = 1
