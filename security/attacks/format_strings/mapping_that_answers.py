# fence: rejected | walls: -
class Answers(dict):
    def __missing__(self, key):
        return (1 for _ in ())
text = "{anything.gi_code}".format_map(Answers())
print("BREACHED" if "code object" in text else text)
