# fence: error | walls: -
import operator
print("BREACHED" if operator.attrgetter("__class__.__base__.__subclasses__")(()) else "")
