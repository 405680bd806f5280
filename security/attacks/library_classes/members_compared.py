# fence: ok | walls: -
import re

class Thief:
    def __eq__(self, other):
        self.found = other
        return True

thief = Thief()
re.RegexFlag.__members__ == thief
thief.found["EVIL"] = 1
print("BREACHED" if "EVIL" in re.RegexFlag.__members__ else "")
