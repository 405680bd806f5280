# fence: ok | walls: -
import re

class Thief:
    def __ror__(self, other):
        self.found = other
        return {}

thief = Thief()
re.RegexFlag.__members__ | thief
thief.found.clear()
print("BREACHED" if not re.RegexFlag.__members__ else "")
