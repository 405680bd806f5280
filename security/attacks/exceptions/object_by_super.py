# fence: rejected | walls: -
class Missing(AttributeError):
    pass


class Owner:
    @property
    def absent(self):
        raise Missing("absent")


try:
    Owner().absent
except Missing as error:
    print("BREACHED" if super(Missing, error).obj is not None else "")
