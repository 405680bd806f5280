# fence: ok | walls: -
import copy
from html.parser import HTMLParser

class Spy:
    seen = ()
    def __deepcopy__(self, memo):
        Spy.seen = list(memo.values())
        return self

copy.deepcopy([HTMLParser(), Spy()])
print("BREACHED" if any("_HTMLParser__starttag_text" in str(value) or "rawdata" in str(value) for value in Spy.seen) else "")
