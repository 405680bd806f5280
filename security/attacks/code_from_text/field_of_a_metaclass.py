# fence: rejected | walls: -
# A dataclass reads the default of each field from its class, where a metaclass keeps what is its own.
from abc import ABCMeta
from dataclasses import dataclass, fields


@dataclass
class Shape(metaclass=ABCMeta):
    _abc_impl: object


print("BREACHED" if "_abc_data" in repr(fields(Shape)[0].default) else "")
