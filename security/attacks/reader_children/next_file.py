# surface: held
# The reader leaves something for the reader of the next file: in its modules, or in the position of a descriptor.
from winnow.security.reader_attack import behind_walls

LEAVE = """
json.left = "BREACHED"
FACTS["title"] = "BREACHED"
os.lseek(DOCUMENT, 0, os.SEEK_END)
found = "left"
"""
TAKE = "found = getattr(json, 'left', '') + FACTS['title'] + 'read'"


def control():
    import json

    names = {"json": json, "FACTS": {"title": ""}, "os": __import__("os"), "DOCUMENT": 0}
    exec("json.left = 'BREACHED'", names)
    exec("found = getattr(json, 'left', '')", names)
    return names["found"] == "BREACHED"


def surface():
    left, taken = behind_walls(LEAVE, TAKE)
    return (left, taken) != ("left", "read")
