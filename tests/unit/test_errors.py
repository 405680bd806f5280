"""The error taxonomy: six codes, and a reason for each error."""

from __future__ import annotations

import pytest

from winnow.server.errors import REASONS, ErrorCode, WinnowError, internal_error


def test_exactly_six_codes_travel_and_each_has_a_reason() -> None:
    assert {code.value for code in ErrorCode} == {
        "INVALID_ARGUMENT",
        "SCOPE_VIOLATION",
        "BACKEND_UNAVAILABLE",
        "TIMEOUT",
        "BUDGET_EXCEEDED",
        "INTERNAL_ERROR",
    }
    assert set(REASONS.values()) == set(ErrorCode)


def test_an_envelope_carries_code_message_reason_and_when_to_try_again() -> None:
    error = WinnowError("QUEUE_FULL", "the queue is full", retryable=True, retry_after_s=30, details={"depth": 50})
    assert error.envelope() == {
        "code": "BACKEND_UNAVAILABLE",
        "message": "the queue is full",
        "details": {"reason": "QUEUE_FULL", "retryable": True, "depth": 50, "retry_after_s": 30},
    }


def test_a_reason_that_is_not_in_the_table_is_a_bug() -> None:
    with pytest.raises(KeyError):
        WinnowError("OOPS", "no")


def test_our_own_fault_says_nothing_of_itself() -> None:
    assert internal_error().code is ErrorCode.INTERNAL_ERROR
