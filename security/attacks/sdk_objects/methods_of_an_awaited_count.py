# fence: rejected | walls: -
from client_sdk import tokens
from client_sdk.awaitable import Number
Number.__add__ = lambda self, other: "BREACHED"
print(Number(1) + 1)
