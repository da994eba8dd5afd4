"""Replicas on several ranks that should be equal in every bit."""
from collections import Counter
from typing import Any, NamedTuple

__all__ = ["ReplicaFault"]


class ReplicaFault(NamedTuple):
    """A replica that differs from the others: silent data corruption, or a missing synchronisation."""
    iteration: int
    op_type: str  # "Parameter", "OptimizerState", or the class of the module with this output
    op_name: str
    ranks: tuple[int, ...]  # in the group; where as many agree as differ, all of them
    replicas: int  # how many there are

    @property
    def words(self) -> str:
        ranks = ", ".join(map(str, self.ranks))
        which = f"rank {ranks} differs" if len(self.ranks) == 1 else f"ranks {ranks} differ"
        return f"of {self.replicas} replicas {which} in a bit"

    def __str__(self) -> str:
        subject = {"Parameter": "parameter", "OptimizerState": "optimizer state"}.get(self.op_type, "output of")
        return f"iteration {self.iteration}, {subject} {self.op_name}: {self.words}"


def ranks_that_differ(of_ranks: dict[int, Any]) -> tuple[int, ...]:
    """From hashes by rank: the ranks that differ from most; if most do not agree, all."""
    counts = Counter(of_ranks.values()).most_common()
    is_majority = counts[0][1] > counts[1][1]
    return tuple(rank for rank, value in of_ranks.items() if not is_majority or value != counts[0][0])
