# fence: rejected | walls: -
from dataclasses import dataclass
from typing import TypedDict

class Thief:
    found = None
    def __eq__(self, other):
        Thief.found = other
        return True

Record = dataclass(init=False)(TypedDict("Record", {"_＿reduce_ex_＿": object}))
one, other = Record.__new__(Record), Record.__new__(Record)
other.__dict__["__reduce_ex__"] = Thief()
one == other
print("BREACHED" if Thief.found(2)[0].__module__ == "copyreg" else Thief.found)
