# fence: error | walls: -
from collections import UserDict
from contextlib import ExitStack

class Stack(ExitStack):
    made = False
    def __new__(cls):
        return UserDict if cls.made else super().__new__(cls)

stack = Stack()
Stack.made = True
stack.pop_all()
print("BREACHED" if vars(UserDict)["_exit_callbacks"] is not None else "")
