"""What a fit of a log says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FitReport:
    """The report of :func:`superarm.fit_log`.

    Attributes
    ----------
    rows
        number of rows with at least one outcome
    distinct
        number of distinct contexts; an estimate, good to about 1 %, if there are more than 10,000
    files, leaves
        number of files, and number of parts into which their rows were cut
    rank
        number of features of each output's basis; one number if they share it
    form
        form of the posterior: low rank; bounded, if no basis of the allowed size represents the prior; or exact
    worst_error, median_error
        bounds of the error of mean and standard deviation against the exact posterior, in prior standard deviations,
        at a sample of the log's contexts: the largest and the median; infinite if none is known
    learnt
        the learnt hyperparameters in words; empty if none were learnt
    digest
        64 hexadecimal digits that identify the posterior, to the last bit
    repeated
        number of tasks that were repeated because their worker was killed
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
