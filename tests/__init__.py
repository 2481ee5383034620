"""Tests, one file for each module of the package; several processes of them share the cores."""

import os

# More threads of BLAS or OpenMP in each process would only wait for each other; NumPy reads this when it is imported.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
