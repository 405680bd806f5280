# fence: rejected | walls: -
from typing import Annotated
text = Annotated[str, 1].format("{0.__class__.__base__.__subclasses__}", ())
print("BREACHED" if "built-in" in text else text)
