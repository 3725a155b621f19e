"""All experiments, in the order in which the page has them."""

from __future__ import annotations

from .cardinality import FIGURE1, TABLE3
from .contest import TABLE7
from .convergence import FIGURE2, FIGURE4, FIGURE5, FIGURE6
from .experiment import Experiment
from .free import TABLE1, TABLE2
from .growth import FIGURE3, IONOSPHERE
from .mixed import TABLE6
from .pairs import TABLE4, TABLE5

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        TABLE1,
        TABLE2,
        FIGURE1,
        TABLE3,
        FIGURE2,
        TABLE4,
        TABLE5,
        FIGURE3,
        TABLE6,
        IONOSPHERE,
        FIGURE4,
        FIGURE5,
        FIGURE6,
        TABLE7,
    )
}
