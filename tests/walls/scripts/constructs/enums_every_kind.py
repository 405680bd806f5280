from enum import Enum, Flag, IntEnum, IntFlag, StrEnum, auto, unique


class Planet(Enum):
    MERCURY = (3.303e23, 2.4397e6)
    EARTH = (5.976e24, 6.37814e6)

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @property
    def gravity(self):
        return round(6.67300e-11 * self.mass / (self.radius * self.radius), 3)


class Status(str, Enum):
    OPEN = "open"
    CLOSED = "closed"

    @classmethod
    def parse(cls, text):
        return cls(text.lower())

    @classmethod
    def _missing_(cls, value):
        return cls.OPEN if value == "" else None


class Weekday(IntEnum):
    MON = 1
    TUE = auto()
    WED = auto()


class Style(StrEnum):
    BOLD = auto()
    ITALIC = "i"


class Access(Flag):
    READ = auto()
    WRITE = auto()
    BOTH = READ | WRITE


class Bits(IntFlag):
    A = 1
    B = 2


class Alias(Enum):
    ONE = 1
    UNO = 1
    _ignore_ = ["x"]


print([p.gravity for p in Planet], Planet.EARTH.name, Planet["EARTH"] is Planet.EARTH, len(Planet))
print(Status.parse("OPEN"), Status("closed").value, Status(""), Status.OPEN == "open", f"{Status.OPEN.value:>8}", Status.OPEN in Status)
print(Weekday.TUE + 1, Weekday(3).name, sorted(Weekday, reverse=True), Weekday.MON < Weekday.WED, int(Weekday.WED), f"{Weekday.MON}")
print(Style.BOLD, Style.ITALIC.upper(), [s.value for s in Style], f"{Style.BOLD:>6}", "-".join(Style))
print(Access.READ | Access.WRITE, Access.BOTH, Access.READ in Access.BOTH, Access.BOTH & ~Access.READ, bool(Access(0)), list(Access.BOTH))
print(Bits.A | Bits.B, (Bits.A | Bits.B) == 3, Bits(3), Alias.UNO, Alias.UNO is Alias.ONE, list(Alias.__members__))
print({Status.OPEN: 1}, repr(Planet.EARTH), Weekday.MON.__class__, type(Status.OPEN).__name__, hash(Status.OPEN) == hash(Status.OPEN))
for attempt in (lambda: Status("nope"), lambda: Planet["MARS"], lambda: setattr(Planet, "EARTH", 1), lambda: Planet.VENUS, lambda: Planet.EARTH < Planet.MERCURY):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__, error)
try:
    @unique
    class Twice(Enum):
        A = 1
        B = 1
except ValueError as error:
    print(error)
match Weekday(2):
    case Weekday.MON:
        print("monday")
    case Weekday.TUE | Weekday.WED as day:
        print("later", day.name)
