# fence: ok | walls: -
import copy
import logging

class Memo(dict):
    found = []
    def __setitem__(self, key, value):
        Memo.found.append(value)
        super().__setitem__(key, value)

try:
    copy.deepcopy(logging.StreamHandler().flush, Memo())
except TypeError:
    pass
private = [name for found in Memo.found if isinstance(found, dict) for name in found if name.startswith("_")]
print("BREACHED" if private else "")
