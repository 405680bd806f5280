# surface: held
# The cursor of one pattern is given with another, and with numbers that no page has.
from winnow.security.scan_target import ingest, scan

ROWS = [f"row {number}" for number in range(50)]


def page(offset, pattern):  # a list whose cursor is an offset
    return [row for row in ROWS if pattern in row][int(offset) :][:3]


def control():
    return page("3", "row 4") == ["row 42", "row 43", "row 44"]


def surface():
    ingest({"rows.txt": "\n".join(ROWS)})
    cursor = scan(r"row \d+", "--limit", "3")["next_cursor"]
    offset, rest = cursor.split(".", 1)
    other = scan("row 4", "--limit", "3", "--cursor", cursor)
    strange = [
        scan(r"row \d+", "--limit", "3", "--cursor", one)
        for one in (f"-1.{rest}", f"{'9' * 40}.{rest}", f"{offset}.1.1.1.1.1", f"{offset}/../{rest}", "٣" + cursor[1:])
    ]
    beyond = scan(r"row \d+", "--limit", "3", "--cursor", f"{'9' * 12}.{rest}")
    refused = [answer.get("error", {}).get("details", {}).get("reason") for answer in (other, *strange)]
    return refused != ["INVALID_CURSOR"] * 6 or beyond["results"] != []
