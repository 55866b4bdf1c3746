"""How likely a set of arms breaks its group's promise under the posterior, and what that is expected to cost."""

from superarm.policies.cautious.certificates.certificate import Certificate, Growth, Sets, Surrogate, Verdicts
from superarm.policies.cautious.certificates.judge import Judge, Judged, certificate_of

__all__ = ["Certificate", "Growth", "Judge", "Judged", "Sets", "Surrogate", "Verdicts", "certificate_of"]
