# fence: ok | walls: -
# What is warned with is recorded with its class; that of a class is the metaclass of all, which makes any class.
import warnings


def make(message):
    return int


class Notice(Warning):
    def __new__(cls, message):
        return int


def kinds(category):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.warn("a", category)
    return [seen[0].category, type(seen[0].message)]


def attempt(action, *given):
    try:
        return action(*given)
    except Exception:
        return ()


for category in (make, Notice):
    for kind in attempt(kinds, category):
        if attempt(kind, "Reader", (), {"__match_args__": ("gi_frame",)}):
            print("BREACHED", kind)
