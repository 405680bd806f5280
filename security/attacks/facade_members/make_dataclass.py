# fence: error | walls: -
import dataclasses
Made = dataclasses.make_dataclass("Made", ["x"], namespace={"__str__": lambda self: "BREACHED"})
print(str(Made(1)))
