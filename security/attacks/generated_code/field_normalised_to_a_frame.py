# fence: rejected | walls: -
from dataclasses import dataclass
from typing import TypedDict

Record = dataclass(init=False, eq=False)(TypedDict("Record", {"ｔb_frame": object, "_＿class_＿": object}))
made = Record.__new__(Record)
made.__dict__["tb_frame"] = "nothing"
print("BREACHED" if "<class" in repr(made) else made)
