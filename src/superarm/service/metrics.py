"""What a service counts, for Prometheus; a group never is a label, as groups are people."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from superarm.sessions.decision import Decision, Receipt

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, words: str, *labels: str) -> Counter:
            return Counter(f"superarm_{name}", words, labels, registry=self.registry)

        def histogram(name: str, words: str, *labels: str) -> Histogram:
            return Histogram(f"superarm_{name}", words, labels, registry=self.registry, buckets=SECONDS)

        self.requests = counter("requests", "Requests that were answered.", "route", "status")
        self.request_seconds = histogram("request_seconds", "From the first byte to the last.", "route")
        self.decisions = counter("decisions", "Decisions, by what they are.", "session", "kind")
        self.replayed = counter("decisions_replayed", "Decisions that were asked for again.", "session")
        self.outcomes = counter("outcomes", "Outcomes that came.", "session", "what")
        self.decide_seconds = histogram("decide_seconds", "Of a decision, by phase.", "phase")
        self.refused = counter("refused", "Requests that were not let in or turned away.", "why")
        self.pending = Gauge("superarm_pending", "Decisions out.", ["session"], registry=self.registry)
        self.ready = Gauge("superarm_ready", "Whether the service is ready.", registry=self.registry)

    def decided(self, session: str, decision: Decision, *, queue: float, decode: float, begun: float) -> None:
        """Count a decision, and the seconds of its phases; ``begun``: when the session was asked."""
        if decision.replayed:
            self.replayed.labels(session).inc()
        else:
            self.decisions.labels(session, "NONE" if decision.kind is None else decision.kind.name).inc()
        for phase, seconds in (("queue", queue), ("decode", decode), ("session", time.perf_counter() - begun)):
            self.decide_seconds.labels(phase).observe(seconds)

    def observed(self, session: str, receipt: Receipt) -> None:
        """Count outcomes."""
        self.outcomes.labels(session, "new").inc(receipt.new)
        self.outcomes.labels(session, "known").inc(receipt.known)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
