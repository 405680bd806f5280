# surface: held
# Sessions fill the server's memory with saved values: full ones, many small ones, and values that never end.
import sys

from winnow.server.runtime.sessions.saved_values import SavedValues

MIB = 1024 * 1024
MOST = 80 * MIB  # 64 MiB of values and 16 MiB of values under way


def control():
    values = {}
    for session in range(100):
        values[session] = "x" * MIB
    return sum(map(sys.getsizeof, values.values())) > MOST


def _held(values, sessions):
    kept = sum(sum(values.sizes(session).values()) for session in sessions)
    return kept + sum(len(pending.text) for pending in values._pending.values())


def surface():
    values = SavedValues(1800.0)
    sessions = [f"s{number}" for number in range(120)]
    size = MIB - 65_536
    for session in sessions:
        for run in range(20):
            values.save(session, f"run {run}", "endless", "x" * 65_536, 0, size)
        for start in range(0, size, 65_536):
            values.save(session, "run", "large", "x" * 65_536, start, size)
    small = [f"t{number}" for number in range(100_000)]
    for session in small:
        values.save(session, "run", "a", "1", 0, 1)
    return _held(values, [*sessions, *small]) > MOST or len(values._sessions) == len(small)
