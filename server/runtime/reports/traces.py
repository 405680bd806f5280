"""Traces over OTLP: what a call waited for, as spans that a collector shows. Off unless ``otlp_url`` is set.

The package OpenTelemetry is imported only then; without it ``span`` does nothing. A span has names and numbers. It
never has a query, a script or a text of a document, and no message of an exception, which may quote them: queries
are hashed as in the log.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from winnow import __version__
from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log
from winnow.server.settings.settings import Settings

SpanKind = Literal["server", "internal"]

_TRACEPARENT, _TRACESTATE = "traceparent", "tracestate"
_MOST_CHARS = 512  # of a trace context; the format has 55 and a list of at most 512
_EXPORT_SECONDS = 3.0
_MISSING = "otlp_url needs a package; run: pip install 'winnow-mcp[otlp]'"


class _Tracing:
    """OpenTelemetry in this process, once it is set up."""

    def __init__(self, url: str, service: str) -> None:
        def load(name: str) -> Any:
            return importlib.import_module(f"opentelemetry.{name}")

        sdk, exporter = load("sdk.trace"), load("exporter.otlp.proto.http.trace_exporter")
        self.api, self._context = load("trace"), load("context")
        self._format = load("trace.propagation.tracecontext").TraceContextTextMapPropagator()
        resource = load("sdk.resources").Resource.create({"service.name": service, "service.version": __version__})
        # Not the global provider: libraries that trace by themselves would add texts that we do not add.
        self._provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        sender = exporter.OTLPSpanExporter(endpoint=f"{url.rstrip('/')}/v1/traces", timeout=_EXPORT_SECONDS)
        batches = load("sdk.trace.export").BatchSpanProcessor(sender, export_timeout_millis=_EXPORT_SECONDS * 1000)
        self._provider.add_span_processor(batches)
        self._tracer = self._provider.get_tracer("winnow", __version__)

    @contextmanager
    def span(self, name: str, kind: SpanKind, attributes: Mapping[str, Any]) -> Iterator[None]:
        kinds = self.api.SpanKind
        with self._tracer.start_as_current_span(
            name,
            kind=kinds.SERVER if kind == "server" else kinds.INTERNAL,
            attributes=dict(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as current:
            try:
                yield
            except BaseException as error:
                reason = error.reason if isinstance(error, WinnowError) else type(error).__name__
                current.set_attribute("error.type", reason)
                current.set_status(self.api.StatusCode.ERROR)
                raise

    def annotate(self, attributes: Mapping[str, Any]) -> None:
        self.api.get_current_span().set_attributes(dict(attributes))

    def context(self) -> dict[str, str]:
        carrier: dict[str, str] = {}
        self._format.inject(carrier)
        return carrier

    @contextmanager
    def continued(self, carrier: Mapping[str, str]) -> Iterator[None]:
        token = self._context.attach(self._format.extract(carrier))
        try:
            yield
        finally:
            self._context.detach(token)

    def shut_down(self) -> None:
        """Send what is left; takes at most some seconds."""
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(2 * _EXPORT_SECONDS)


_tracing: _Tracing | None = None


def set_up_traces(settings: Settings, service: str) -> None:
    """Begin to send spans to the collector of the settings, if they name one, under this name of a service.

    Raises ``WinnowError("INVALID_REQUEST")`` if the packages are missing.
    """
    global _tracing
    if settings.otlp_url is None:
        return
    try:
        _tracing = _Tracing(settings.otlp_url.whole, service)
    except ImportError:
        raise WinnowError("INVALID_REQUEST", _MISSING) from None
    log("traces are sent", to=str(settings.otlp_url), service=service)


def shut_down_traces() -> None:
    """Send the spans that are left, and end. Blocks for seconds at most."""
    global _tracing
    tracing, _tracing = _tracing, None
    if tracing is not None:
        tracing.shut_down()


@contextmanager
def span(name: str, kind: SpanKind = "internal", /, **attributes: str | float) -> Iterator[None]:
    """Around a piece of work. ``attributes``: names and numbers, never a text of a caller or a document."""
    if _tracing is None:
        yield
        return
    with _tracing.span(name, kind, {f"winnow.{key}": value for key, value in attributes.items()}):
        yield


def annotate(**attributes: str | float) -> None:
    """Add attributes to the span of this piece of work."""
    if _tracing is not None:
        _tracing.annotate({f"winnow.{key}": value for key, value in attributes.items()})


def trace_context() -> dict[str, str]:
    """The current span as W3C trace context, to be continued in another process; empty without one."""
    return _tracing.context() if _tracing is not None else {}


@contextmanager
def continued(carrier: object) -> Iterator[None]:
    """Around work that continues a trace: its spans belong to the span that ``carrier`` names.

    ``carrier`` comes from outside: a mapping with ``traceparent``. Anything else, and what is malformed, begins a
    trace of its own.
    """
    known = _read_carrier(carrier)
    if _tracing is None or not known:
        yield
        return
    with _tracing.continued(known):
        yield


def _read_carrier(carrier: object) -> dict[str, str]:
    if not isinstance(carrier, Mapping):
        return {}
    fields = {name: carrier.get(name) for name in (_TRACEPARENT, _TRACESTATE)}
    return {name: text for name, text in fields.items() if isinstance(text, str) and len(text) <= _MOST_CHARS}
