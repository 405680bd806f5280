# surface: held
# The reader leaves something for the next ingest, which takes over its fork server: in its modules, in a second
# answer, or by running on.
from winnow.security.reader_attack import behind_walls_in_turn

LEAVE = """
json.left = "BREACHED"
FACTS["title"] = "BREACHED"
for text in (b"left", b"BREACHED"):
    send(json.dumps(FACTS).encode())
    send(text)
while True:
    pass
"""
TAKE = "found = getattr(json, 'left', '') + FACTS['title'] + 'read'"


def control():
    import json

    sent = []
    names = {"json": json, "FACTS": {"title": ""}, "send": sent.append}
    exec(LEAVE.partition("while")[0], names)
    exec(TAKE, names)
    return names["found"] == "BREACHEDBREACHEDread" and sent[-1] == b"BREACHED"


def surface():
    left, taken = behind_walls_in_turn(LEAVE, TAKE)
    return (left, taken) != ("left", "read")
