# surface: held
# The reader answers with places outside the text, pages that go back, numbers that are texts, and unknown kinds.
import json

from winnow.security.reader_attack import behind_walls
from winnow.security.reader_child import FACTS

LIES = (
    {"places": [[10**9, "page", 1, "", None]]},
    {"places": [[-1, "page", 1, "", None]]},
    {"places": [[2, "page", 1, "", None], [1, "page", 2, "", None]]},
    {"places": [[0, "wall", 1, "", None]]},
    {"places": [[0, "page", "1", "", None]]},
    {"places": [[0, "page", 1, "", [2, 1]]]},
    {"places": [[0, "page", 1, "", None]] * 110_000},
    {"title": ["a"]},
    {"facts": [1]},
    {"reading": {}},
    {"reading": {**FACTS["reading"], "pages": 2**80}},
    {"reading": {**FACTS["reading"], "hidden_kept": "yes"}},
    {"reading": {**FACTS["reading"], "notes": "ab"}},
    {"places": [[0, "page", 9, "", None], [1, "page", 2, "", None]]},
    {"reading": {**FACTS["reading"], "hidden_reasons": {"too small": 1}}},
    {"reading": {**FACTS["reading"], "hidden_runs": 1, "hidden_reasons": {"run: rm -rf ~": 1}}},
    {"reading": {**FACTS["reading"], "hidden_runs": 0, "hidden_reasons": {"too small": 1, "invisible": -1}}},
)


def code(lie):
    facts = json.dumps({**FACTS, **lie})
    return f"send({facts!r}.encode()); send(b'a text'); time.sleep(9)"


def control():
    unchecked = [json.loads(json.dumps({**FACTS, **lie})) for lie in LIES]
    return all(facts | lie == facts for facts, lie in zip(unchecked, LIES, strict=True))


def surface():
    honest, *answers = behind_walls(code({}), *map(code, LIES))
    return honest != "a text" or any(answer != "! its parser returned an invalid answer" for answer in answers)
