# fence: error/rejected | walls: -
from collections import UserList
from typing import Generic, TypeVar
T = TypeVar("T")

class Made(Generic[T]):
    def __new__(cls):
        return UserList

Made[int]()
print("BREACHED" if "Made" in str(vars(UserList)["__orig_class__"]) else "")
