import re

RULES = {
    "email": lambda v: bool(re.fullmatch(r"[^@\s]+@[^@\s]+\.\w+", v)),
    "age": lambda v: isinstance(v, int) and 0 <= v < 150,
    "name": str.istitle,
}


class ValidationError(ValueError):
    def __init__(self, field, value):
        self.field, self.value = field, value
        super().__init__(f"{field}: {value!r} is not valid")


def validate(record):
    for field, rule in RULES.items():
        if field not in record:
            raise KeyError(field)
        if not rule(record[field]):
            raise ValidationError(field, record[field])
    return record


for record in ({"email": "a@b.org", "age": 3, "name": "Bo"}, {"email": "nope", "age": 3, "name": "Bo"}, {"email": "a@b.c", "age": 200, "name": "Bo"}, {"age": 1}):
    try:
        print("ok", validate(record))
    except ValidationError as e:
        print(e.field, "|", e)
    except KeyError as e:
        print("missing", e, e.args[0])
