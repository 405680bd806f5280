# fence: ok | walls: -
import string

class Thief:
    def __eq__(self, other):
        self.found = other
        return True

thief = Thief()
string.Template.pattern.groupindex == thief
thief.found.clear()
try:
    string.Template("$x").substitute(x=1)
except IndexError:
    print("BREACHED")
