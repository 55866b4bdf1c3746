"""An example of every body that a request brings, for the OpenAPI document and the reference; the tests send them."""

from __future__ import annotations

from typing import Any

ROUND: dict[str, Any] = {
    "contexts": {"price": [0.1, 0.4, 0.9], "kind": ["book", "book", "toy"]},
    "arm_ids": ["a1", "a2", "b1"],
    "groups": ["ann", "ann", "bob"],
    "promises": [{"reward": "sum", "sense": ">=", "thresholds": 0.1}],
    "feasible": {"at_most": 2},
}
OUTCOMES: dict[str, Any] = {"arms": ["a1", "b1"], "outcomes": [[0.5, 0.4], [0.2, None]]}
EXAMPLES: dict[str, Any] = {  # by the name of the structure
    "RoundSent": ROUND,
    "OutcomesSent": OUTCOMES,
    "ArmsSent": {part: ROUND[part] for part in ("contexts", "arm_ids", "groups")},
    "ValueSent": {"value": 0.3, "reason": "refund"},
    "RecordSent": {"round": ROUND, **OUTCOMES},
    "SessionSent": {"name": "careful", "policy": {"policy": "CautiousTCGPUCB", "confidence": 0.95}, "deadline": 604800},
    "SessionChange": {"paused": True},
    "LabelSent": {"label": "ann"},
}
