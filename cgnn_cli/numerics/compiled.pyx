# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The compiled loops of masked.py, each over rows of CSR matrices, of which all integers have one type.

A row's terms are added in the order of scipy's public products, so that the bits are theirs. The interpreter is left
free for other threads.
"""

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define soon(place) __builtin_prefetch(place)
    #else
    #define soon(place)
    #endif
    """
    void soon(const void* place) nogil  # a line that will be read, as the rows and states of a walk lie anywhere

cdef enum:
    ROWS_AHEAD = 8
    STATES_AHEAD = 32


ctypedef fused index:
    int
    long long


def product_on(
    const index[::1] left_pointers, const index[::1] left_columns, const double[::1] left_values,
    const index[::1] pointers, const index[::1] columns, const double[::1] values,
    const index[::1] wanted_pointers, const index[::1] wanted_columns,
    index[::1] places, double[::1] found,
):
    """found += left @ right on the wanted entries. places: a 0 for each column, as it is afterwards."""
    cdef Py_ssize_t row, entry, step, place
    cdef index middle
    cdef double value
    with nogil:
        for row in range(left_pointers.shape[0] - 1):
            for place in range(wanted_pointers[row], wanted_pointers[row + 1]):
                places[wanted_columns[place]] = <index> (place + 1)
            for entry in range(left_pointers[row], left_pointers[row + 1]):
                if entry + ROWS_AHEAD < left_columns.shape[0]:
                    step = pointers[left_columns[entry + ROWS_AHEAD]]
                    soon(&columns[0] + step)
                    soon(&values[0] + step)
                middle, value = left_columns[entry], left_values[entry]
                for step in range(pointers[middle], pointers[middle + 1]):
                    place = places[columns[step]]
                    if place:
                        found[place - 1] += value * values[step]
            for place in range(wanted_pointers[row], wanted_pointers[row + 1]):
                places[wanted_columns[place]] = 0


def values_on(
    const index[::1] pointers, const index[::1] columns, const double[::1] values,
    const index[::1] wanted_pointers, const index[::1] wanted_columns,
    index[::1] places, double[::1] found,
):
    """The values of a block on the wanted entries; `places` as above."""
    cdef Py_ssize_t row, entry, place
    with nogil:
        for row in range(pointers.shape[0] - 1):
            for place in range(wanted_pointers[row], wanted_pointers[row + 1]):
                places[wanted_columns[place]] = <index> (place + 1)
            for entry in range(pointers[row], pointers[row + 1]):
                place = places[columns[entry]]
                if place:
                    found[place - 1] = values[entry]
            for place in range(wanted_pointers[row], wanted_pointers[row + 1]):
                places[wanted_columns[place]] = 0


def product(
    const index[::1] left_pointers, const index[::1] left_columns, const double[::1] left_values,
    const index[::1] pointers, const index[::1] columns, const double[::1] values,
    index[::1] places, double[::1] sums,
    index[::1] found_pointers, index[::1] found_columns, double[::1] found_values,
):
    """left @ right into arrays that are large enough; `places` and `sums` have a 0 for each column, and afterwards too.

    places: the column of the row that was met before one, and 2 more, so that the last one met leads to all others.
    """
    cdef Py_ssize_t row, entry, step, count = 0
    cdef index middle, column, last
    cdef double value
    with nogil:
        found_pointers[0] = 0
        for row in range(left_pointers.shape[0] - 1):
            last = -1
            for entry in range(left_pointers[row], left_pointers[row + 1]):
                if entry + ROWS_AHEAD < left_columns.shape[0]:
                    step = pointers[left_columns[entry + ROWS_AHEAD]]
                    soon(&columns[0] + step)
                    soon(&values[0] + step)
                middle, value = left_columns[entry], left_values[entry]
                for step in range(pointers[middle], pointers[middle + 1]):
                    column = columns[step]
                    sums[column] += value * values[step]
                    if places[column] == 0:
                        places[column] = last + 2
                        last = column
            while last != -1:
                if sums[last] != 0:
                    found_columns[count], found_values[count] = last, sums[last]
                    count += 1
                sums[last] = 0
                column = last
                last = places[column] - 2
                places[column] = 0
            found_pointers[row + 1] = <index> count


def add_product(
    const index[::1] pointers, const index[::1] columns, const double[::1] values,
    const double[::1] vector, double[::1] total,
):
    """total += matrix @ vector, the terms of a row one by one."""
    cdef Py_ssize_t row, entry
    cdef double term
    with nogil:
        for row in range(pointers.shape[0] - 1):
            term = total[row]
            for entry in range(pointers[row], pointers[row + 1]):
                if entry + STATES_AHEAD < columns.shape[0]:
                    soon(&vector[0] + columns[entry + STATES_AHEAD])
                term += values[entry] * vector[columns[entry]]
            total[row] = term


def add_products(
    const index[::1] pointers, const index[::1] columns, const double[::1] values,
    const double[:, ::1] vectors, double[:, ::1] total,
):
    """The same for columns."""
    cdef Py_ssize_t row, entry, place
    cdef index column
    cdef double value
    with nogil:
        for row in range(pointers.shape[0] - 1):
            for entry in range(pointers[row], pointers[row + 1]):
                column, value = columns[entry], values[entry]
                for place in range(total.shape[1]):
                    total[row, place] += value * vectors[column, place]


def gathered_differences(
    const double[:, ::1] diagonal, const double[:, ::1] kept, const long long[::1] places, const index[::1] ends,
    double[:, ::1] lines,
):
    """lines[:, pair] = diagonal[ends[pair]] - kept[places[pair]]."""
    cdef Py_ssize_t pair, line
    with nogil:
        for pair in range(places.shape[0]):
            if pair + ROWS_AHEAD < places.shape[0]:
                soon(&kept[0, 0] + places[pair + ROWS_AHEAD] * kept.shape[1])
                soon(&diagonal[0, 0] + <Py_ssize_t> ends[pair + ROWS_AHEAD] * diagonal.shape[1])
            for line in range(lines.shape[0]):
                lines[line, pair] = diagonal[ends[pair], line] - kept[places[pair], line]
