# fence: error | walls: -
# What stands for a type, and is of a class of the script: an alias believes its answers as those of any object.
from typing import NewType


class Forger(NewType):
    def __getattr__(self, name):
        if name == "__typing_subst__":
            return lambda item: print("BREACHED")
        raise AttributeError(name)


print(dict[Forger("Name", str), int][str])
