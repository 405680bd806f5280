# fence: rejected | walls: error
from typing import get_type_hints

class Told:
    x: "__import__('os').listdir('/')"

print("BREACHED" if get_type_hints(Told)["x"] else "")
