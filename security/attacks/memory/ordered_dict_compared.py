# fence: ok | walls: -
# CPython issue 119004: its own comparison walks nodes that a key may have freed meanwhile.
from collections import OrderedDict

print("BREACHED" if "slot wrapper" in repr(OrderedDict.__eq__) else "")
