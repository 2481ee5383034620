"""What compiled.pyx offers: its arrays are contiguous, and integers in one call are of one type, 32 or 64 bits."""

import numpy as np

def product_on(
    left_pointers: np.ndarray,
    left_columns: np.ndarray,
    left_values: np.ndarray,
    pointers: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    wanted_pointers: np.ndarray,
    wanted_columns: np.ndarray,
    places: np.ndarray,
    found: np.ndarray,
) -> None: ...
def values_on(
    pointers: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    wanted_pointers: np.ndarray,
    wanted_columns: np.ndarray,
    places: np.ndarray,
    found: np.ndarray,
) -> None: ...
def product(
    left_pointers: np.ndarray,
    left_columns: np.ndarray,
    left_values: np.ndarray,
    pointers: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    places: np.ndarray,
    sums: np.ndarray,
    found_pointers: np.ndarray,
    found_columns: np.ndarray,
    found_values: np.ndarray,
) -> None: ...
def add_product(
    pointers: np.ndarray, columns: np.ndarray, values: np.ndarray, vector: np.ndarray, total: np.ndarray
) -> None: ...
def add_products(
    pointers: np.ndarray, columns: np.ndarray, values: np.ndarray, vectors: np.ndarray, total: np.ndarray
) -> None: ...
