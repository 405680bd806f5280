# fence: rejected | walls: -
import json
from functools import cached_property

class Cached(cached_property):
    pass

cached = Cached(lambda self: lambda value: "BREACHED")
cached.__set_name__(Cached, "evil")
cached.__get__(json)
print(json.evil(1))
