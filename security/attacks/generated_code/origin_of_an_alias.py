# fence: rejected | walls: -
from typing import Type, get_origin
Meta = get_origin(Type[int])
Made = Meta("Made", (), {"__match_args__": ("gi_frame",)})
print("BREACHED" if Made.__match_args__ else "")
