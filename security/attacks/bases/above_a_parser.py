# fence: rejected | walls: -
from html.parser import HTMLParser

class Parser(HTMLParser):
    pass

Hidden = Parser.__mro__[2]
Hidden.getpos = lambda self: "BREACHED"
print(Parser().getpos())
