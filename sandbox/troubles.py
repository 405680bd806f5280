"""stub"""

from . import verdicts
from .limits import Limits
from dataclasses import asdict, replace


def _frame(outcome):
    e = {k: v for k, v in asdict(outcome.error).items() if v is not None}
    return {"status": outcome.status, "error": e}


def output_limit(n):
    return _frame(verdicts.output(Limits(stdout_total_bytes=n)))


def memory_limit(n):
    return _frame(verdicts.memory(Limits(memory_bytes=n)))
