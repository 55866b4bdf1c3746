"""What a fit of a log says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FitReport:
    """How a posterior came out of a log.

    Attributes
    ----------
    rows
        rows of which at least one outcome came
    distinct
        distinct contexts; an estimate, good to about 1 %, where there are more than 10,000
    files, leaves
        what was read, and into how many parts it was cut
    rank
        features of each output's basis; one number where they share it
    form
        of the posterior: low rank, or bounded, where no basis of the size allowed represents the prior; or exact
    worst_error, median_error
        bounds of the error of mean and standard deviation against the exact posterior, in prior standard deviations,
        at a sample of the log's contexts: the largest and the median; infinite where none is known
    learnt
        what was learnt of the hyperparameters, in words; empty where nothing was
    digest
        64 hexadecimal digits of the posterior, to the last bit
    repeated
        tasks that were done again because their worker was ended
    seconds
        how long it took
    """

    rows: int
    distinct: int
    files: int
    leaves: int
    rank: tuple[int, ...]
    form: str
    worst_error: float
    median_error: float
    learnt: str
    digest: str
    repeated: int
    seconds: float

    def __str__(self) -> str:
        rank = " and ".join(map(str, self.rank))
        lines = [
            f"{self.rows:,} rows, about {self.distinct:,} distinct contexts, in {self.files} files",
            f"{self.form}; features: {rank}",
            f"errors against the exact posterior: at most {self.worst_error:.1g} prior standard deviations at a sample "
            f"of the contexts, {self.median_error:.1g} at the median",
            self.learnt,
            f"digest {self.digest[:16]}, {self.seconds:.1f} s",
        ]
        return "\n".join(line for line in lines if line)
