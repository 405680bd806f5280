import json
from typing import Any


def main() -> int:
    data: dict[str, Any] = {"ok": True}
    print(json.dumps(data))
    return 0


def _helper():
    return "helper"


if __name__ == "__main__":
    main()
    print(__name__, _helper())
