# fence: rejected | walls: -
from typing import Optional
reference = Optional["print('BREACHED')"].__args__[0]
eval(reference.__forward_code__)
