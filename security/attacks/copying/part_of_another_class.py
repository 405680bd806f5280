# fence: rejected | walls: -
import copy
from string import Template

class Text(str):
    def __deepcopy__(self, memo):
        return ["BREACHED"]

print(copy.deepcopy(Template(Text("$x"))).template)
