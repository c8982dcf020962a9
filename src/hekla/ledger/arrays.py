"""Names for the shapes of arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Amounts = npt.NDArray[np.int64]
"""Exact amounts: (R,) for one thing, (N, R) for all nodes."""

Floats = npt.NDArray[np.float64]
"""Shares, scores, and amounts that were scaled."""

Indices = npt.NDArray[np.intp]
"""Column or row numbers."""

Mask = npt.NDArray[np.bool_]
"""A yes or no per node."""

Rows = Indices | slice
"""Which nodes a row-wise answer is wanted for."""

ALL_ROWS = slice(None)
