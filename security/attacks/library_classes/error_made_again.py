# fence: rejected | walls: -
import json
try:
    json.nothing
except AttributeError as error:
    found = error
AttributeError.__init__(found, "BREACHED")
print(found)
