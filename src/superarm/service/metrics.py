"""What a service counts, for Prometheus; a group never is a label, as groups are people."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from superarm.sessions.decision import Decision, Receipt

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
BOTH = ("session", "what")
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
        self.request_seconds = histogram(
            "request_seconds", "Seconds from the first byte of a request to the last byte of its answer.", "route"
        )
        self.decisions = counter("decisions", "Decisions, by kind.", "session", "kind")
        self.replayed = counter(
            "decisions_replayed", "Decisions that were requested again under the same key.", "session"
        )
        self.outcomes = counter("outcomes", "Outcomes that were reported.", "session", "what")
        self.decide_seconds = histogram("decide_seconds", "Seconds of a decision, by phase.", "phase")
        self._phases = [self.decide_seconds.labels(phase) for phase in ("queue", "decode", "session")]
        self.refused = counter("refused", "Requests that were refused.", "why")

        def gauge(name: str, words: str, *labels: str) -> Gauge:
            return Gauge(f"superarm_{name}", words, labels, registry=self.registry)

        self.pending = gauge("pending", "Decisions that wait for outcomes.", "session")
        self.balance = gauge("balance", "Balance of the account of risk, if the policy keeps one.", "session")
        self.promises = gauge("promises", "Promises that decisions touched, by result.", "session", "state")
        self.broken = gauge("promises_broken", "Broken promises with a stated risk: predicted and observed.", *BOTH)
        self.uncounted = gauge("events_uncounted", "Events that the counts of promises do not include yet.", "session")
        self.ready = Gauge("superarm_ready", "Whether the service is ready.", registry=self.registry)

    def decided(self, session: str, decision: Decision, *, queue: float, decode: float, begun: float) -> None:
        """Count a decision, and the seconds of its phases; ``begun``: when the session was asked."""
        if decision.replayed:
            self.replayed.labels(session).inc()
        else:
            self.decisions.labels(session, "NONE" if decision.kind is None else decision.kind.name).inc()
        for phase, seconds in zip(self._phases, (queue, decode, time.perf_counter() - begun), strict=True):
            phase.observe(seconds)

    def observed(self, session: str, receipt: Receipt) -> None:
        """Count outcomes."""
        self.outcomes.labels(session, "new").inc(receipt.new)
        self.outcomes.labels(session, "known").inc(receipt.known)

    def looked(self, session: str, out: int, balance: float | None, sums: Mapping[str, float], uncounted: int) -> None:
        """Take note of how a session stands: decisions out, the account, and sums over its promises."""
        self.pending.labels(session).set(out)
        if balance is not None:
            self.balance.labels(session).set(balance)
        for state in ("kept", "broken", "unknown"):
            self.promises.labels(session, state).set(sums[state])
        for what in ("predicted", "observed"):
            self.broken.labels(session, what).set(sums[what])
        self.uncounted.labels(session).set(uncounted)

    def text(self, covers: Callable[[str], bool] = lambda session: True) -> bytes:
        """All of it, as Prometheus reads it; of sessions those alone that are covered."""
        return generate_latest(_Covered(self.registry, covers))


@dataclass(frozen=True)
class _Covered(CollectorRegistry):
    """What is counted of some sessions, and of none."""

    whole: CollectorRegistry
    covers: Callable[[str], bool]

    def collect(self) -> Iterator[Metric]:
        for found in self.whole.collect():
            found.samples = [
                each for each in found.samples if "session" not in each.labels or self.covers(each.labels["session"])
            ]
            yield found
