"""The two passes of an iteration as Triton kernels; each reads and writes the state once.

A program works on one tile of ``TILE`` groups after another.  It loads the points and the state of
a tile once; x is computed again in each of the two passes, which moves fewer bytes than storing
it.  Sums stay in the program and are written once at its end, so that they are added in a fixed
order.

The mean is subtracted from the points.  A product of float32 is three products of bfloat16 halves,
which keeps 16 bits of each factor.  With ``LEAN`` the sums of the points are two products, which
keeps 8 bits of the points and 16 of the other factor.  The matrix units round towards zero, so
they add only a few tiles; programs add the rest outside of them.

The state is that of :mod:`corral.admm.updates` with two changes.  ``v2`` is stored less 1/2.  The
mean of the right side of a row is not computed from its entries: the centres are centred over the
clusters, so that the costs of a row sum to zero, and the sums of ``v1``, ``clip(v1)`` and ``v2``
over the clusters are stored with the state, in ``sums``.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .triton_tiles import (
    along,
    clip,
    clusters,
    fetch,
    give,
    groups,
    halves,
    load,
    offsets,
    product,
    take,
    within,
)

#: Sums by cluster of a program in addition to those of the points: the mass, and ``t z1``.
COLUMNS = 2
#: Numbers of a program's output after its sums by cluster, for single statistics.
SPARE = 16
#: The statistics that are stored there, in order.
STATISTICS = ("moved", "outside", "squares", "radius", "unbalanced")


@triton.jit
def _constant(centers, columns, shift, cluster, K: tl.constexpr, D: tl.constexpr):
    """What all tiles share: the centres in halves, what clusters add, ``1 / k`` and the shift.

    A cluster that is not there has nothing in any of them, and so nothing in x and z1.
    """
    entry = cluster[:, None] * D + tl.arange(0, D)[None, :]
    high, low = tl.load(centers + entry), tl.load(centers + K * D + entry)
    column, share = tl.load(columns + cluster)[:, None], tl.load(columns + K + cluster)[:, None]
    return high, low, column, share, tl.load(shift + tl.arange(0, D))[None, :]


@triton.jit
def _coefficients(scalars):
    """Those of x, then what stays of the duals; read here, so that a launch can be repeated."""
    inverse, inside, dual = tl.load(scalars), tl.load(scalars + 1), tl.load(scalars + 2)
    sphere, ratio, fade = tl.load(scalars + 3), tl.load(scalars + 4), tl.load(scalars + 5)
    return inverse, inside, dual, sphere, ratio, fade


@triton.jit
def _solution(
    a, s, points, sums, rows, pull, bonds, high, low, column, share, shift, offset, mask,
    tile, first, length, k, e, inverse, inside, dual, sphere,
    SPHERE: tl.constexpr, ROWS: tl.constexpr, PULLED: tl.constexpr,
    K: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """Solve the x-system of a tile without totals; give what it was made of, too.

    Gives x, ``z = clip(v1)`` and ``y = v1 - z``, (K, TILE); the points in halves; the inverse of
    the diagonal in units of that of a group that nothing pulls; and the sums of y and v2 over the
    clusters.
    """
    place = tile * TILE + groups(TILE)
    b, b_rest = halves(points - shift, True)
    z_sum = tl.load(sums + length + place)
    y_sum = tl.load(sums + place) - z_sum
    mean = inside * z_sum + dual * y_sum
    part = tl.full((TILE,), 1.0, tl.float32)
    s_sum = z_sum
    if SPHERE:
        s_sum = tl.load(sums + 2 * length + place)
        mean += sphere * s_sum
    if PULLED:
        part = 1.0 / (1.0 + inverse * tl.load(bonds + place))
        mean += inverse * tl.load(bonds + e + place)
    if ROWS:
        nothing = tl.zeros((K, TILE), tl.float32)
        x = product(high, low, b.T, b_rest.T, nothing, False) + column
        x = x * tl.load(rows + (place - first * TILE))[None, :] - share * mean[None, :]
    else:
        x = product(high, low, b.T, b_rest.T, column - share * mean[None, :], False)
    z = clip(a)
    y = a - z
    x = z * inside + x
    x = y * dual + x
    if SPHERE:
        x = s * sphere + x
    if PULLED:
        start = tile * (k * tl.full((), TILE, tl.int64))
        x = take(pull + start, offset, mask, K, TILE, WARPS) * inverse + x
        x = x * part[None, :]
    if ROWS:
        x += share
    return x, z, y, b, b_rest, part, y_sum, s_sum


@triton.jit
def forward(
    points, shift, order, v1, v2, sums, rows, pull, bonds, centers, columns, scalars, partial,
    m, first, last, length, d, k, e,
    SPHERE: tl.constexpr, ROWS: tl.constexpr, PULLED: tl.constexpr, GATHER: tl.constexpr,
    K: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """A program's ``t' x``, (K,), of the x-system without totals, and ``sum t t / (r a)``.

    Only for groups with numbers of their own.
    """
    inverse, inside, dual, sphere, _ratio, _fade = _coefficients(scalars)
    cluster = clusters(K, WARPS)
    high, low, column, share, middle = _constant(centers, columns, shift, cluster, K, D)
    offset, mask = offsets(k, K, TILE)
    totals = tl.zeros((K, 4), tl.float32)
    gram = tl.zeros((TILE,), tl.float32)
    for tile in tl.range(first + tl.program_id(0), last, tl.num_programs(0), num_stages=1):
        a, s, p = load(
            points, order, v1, v2, offset, mask, tile, m, d, k,
            SPHERE, ROWS, GATHER, K, TILE, D, WARPS,
        )  # fmt: skip
        x, _z, _y, _b, _rest, part, _y_sum, _s_sum = _solution(
            a, s, p, sums, rows, pull, bonds, high, low, column, share, middle, offset, mask,
            tile, first, length, k, e, inverse, inside, dual, sphere,
            SPHERE, ROWS, PULLED, K, TILE, D, WARPS,
        )  # fmt: skip
        own = rows + ((tile - first) * TILE + groups(TILE))
        stride = (last - first) * TILE
        value = tl.load(own + 3 * stride)
        gram += value * tl.load(own + 4 * stride) * part
        totals += along(x * value[None, :], K, TILE)
    out = partial + tl.program_id(0) * (K + 16)
    tl.store(out + cluster, tl.sum(totals, axis=1))
    tl.store(out + K, tl.sum(gram))


@triton.jit
def _balance(
    sums, tile, z, y_sum, s_sum, length, k, ratio, fade,
    SPHERE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Hold the sums of the new state of a tile; give what rows of ``z`` have above one."""
    own = sums + (tile * TILE + groups(TILE))
    total = tl.sum(z, axis=0)
    tl.store(own, y_sum * ratio + 1.0)
    tl.store(own + length, total)
    if SPHERE:
        tl.store(own + 2 * length, s_sum * fade + (1.0 - 0.5 * k))
    return total - 1.0


@triton.jit
def _fetch_tile(
    points, v1, v2, sums, tile, m, length, d, k,
    SPHERE: tl.constexpr, GATHER: tl.constexpr, K: tl.constexpr, TILE: tl.constexpr,
    D: tl.constexpr,
):  # fmt: skip
    """Have what a program needs next brought into the cache."""
    start = tile * (k * tl.full((), TILE, tl.int64))
    fetch(sums + tile * TILE, TILE, TILE)
    fetch(sums + length + tile * TILE, TILE, TILE)
    fetch(v1 + start, TILE * k, K * TILE)
    if SPHERE:
        fetch(sums + 2 * length + tile * TILE, TILE, TILE)
        fetch(v2 + start, TILE * k, K * TILE)
    if not GATHER:
        first = tile * (d * tl.full((), TILE, tl.int64))
        fetch(points + first, tl.minimum(TILE, m - tile * TILE) * d, D * TILE)


@triton.jit
def _write(
    out, cluster, mass, valued, moved, outside, squares, radius, unbalanced, K: tl.constexpr,
):  # fmt: skip
    """Hand over what a program has summed, in the order in which it is read."""
    tl.store(out + cluster, tl.sum(mass, axis=1))
    tl.store(out + K + cluster, tl.sum(valued, axis=1))
    out += 2 * K
    tl.store(out, tl.sum(moved))
    tl.store(out + 1, tl.sum(outside))
    tl.store(out + 2, tl.sum(squares))
    tl.store(out + 3, tl.sum(radius))
    tl.store(out + 4, tl.sum(unbalanced))


@triton.jit
def _numbers(rows, tile, first, last, TILE: tl.constexpr):
    """Weight, metric, value, that over metric and diagonal, and which groups of a tile are real."""
    own = rows + ((tile - first) * TILE + groups(TILE))
    stride = (last - first) * TILE
    weight, metric = tl.load(own + stride)[None, :], tl.load(own + 2 * stride)[None, :]
    value, scaled = tl.load(own + 3 * stride)[None, :], tl.load(own + 4 * stride)
    return weight, metric, value, scaled, (metric > 0.0).to(tl.float32)


@triton.jit
def backward(
    points, shift, order, v1, v2, sums, rows, pull, bonds, centers, columns, scalars, partial, kept,
    m, first, last, length, d, k, e,
    SPHERE: tl.constexpr, ROWS: tl.constexpr, PULLED: tl.constexpr, GATHER: tl.constexpr,
    KEEP: tl.constexpr, LEAN: tl.constexpr, AHEAD: tl.constexpr, STAGES: tl.constexpr,
    RUN: tl.constexpr,
    K: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """Move the state of a program's tiles, and sum what the next iteration needs.

    Registers are what it is short of, so every statistic is one number a thread.
    """
    inverse, inside, dual, sphere, ratio, fade = _coefficients(scalars)
    cluster = clusters(K, WARPS)
    high, low, column, share, middle = _constant(centers, columns, shift, cluster, K, D)
    offset, mask = offsets(k, K, TILE)
    out = partial + tl.program_id(0) * (K * (D + 2) + 16)
    entry = cluster[:, None] * D + tl.arange(0, D)[None, :]
    n = tl.num_programs(0)
    mass = tl.zeros((K, 4), tl.float32)
    valued = tl.zeros((K, 4), tl.float32)
    moved = tl.zeros((WARPS, 8, 4), tl.float32)
    outside = tl.zeros((WARPS, 8, 4), tl.float32)
    squares = tl.zeros((WARPS, 8, 4), tl.float32)
    radius = tl.zeros((WARPS, 8, 4), tl.float32)
    unbalanced = tl.zeros((4,), tl.float32)
    for run in tl.range(first + tl.program_id(0), last, RUN * n, num_stages=1):
        points_sum = tl.zeros((K, D), tl.float32)
        for tile in tl.range(run, tl.minimum(run + RUN * n, last), n, num_stages=STAGES):
            if AHEAD:
                following = tl.minimum(tile + n, last - 1)
                _fetch_tile(
                    points, v1, v2, sums, following, m, length, d, k, SPHERE, GATHER, K, TILE, D
                )
            a, s, p = load(
                points, order, v1, v2, offset, mask, tile, m, d, k,
                SPHERE, ROWS, GATHER, K, TILE, D, WARPS,
            )  # fmt: skip
            x, old, y, b, b_rest, part, y_sum, s_sum = _solution(
                a, s, p, sums, rows, pull, bonds, high, low, column, share, middle, offset, mask,
                tile, first, length, k, e, inverse, inside, dual, sphere,
                SPHERE, ROWS, PULLED, K, TILE, D, WARPS,
            )  # fmt: skip
            start = tile * (k * tl.full((), TILE, tl.int64))
            if ROWS:
                weight, metric, value, scaled, live = _numbers(rows, tile, first, last, TILE)
                theta = tl.load(columns + 2 * K + cluster)[:, None]
                x -= theta * (scaled * part)[None, :]
            if KEEP:
                give(kept + start, offset, mask, x, K, TILE, WARPS)
            a = y * ratio + x
            give(v1 + start, offset, mask, a, K, TILE, WARPS)
            z = clip(a)
            change, gap, square = tl.abs(z - old), (x - z) * (x - z), x * x
            if ROWS:
                change, gap, square = change * live, gap * live, square * metric
            moved += within(change, K, TILE, WARPS)
            outside += within(gap, K, TILE, WARPS)
            squares += within(square, K, TILE, WARPS)
            if SPHERE:
                s = s * fade + (x - 0.5)
                give(v2 + start, offset, mask, s, K, TILE, WARPS)
                radius += within(s * s * metric if ROWS else s * s, K, TILE, WARPS)
            lack = _balance(sums, tile, z, y_sum, s_sum, length, k, ratio, fade, SPHERE, TILE)
            if ROWS:
                valued += along(z * value, K, TILE)
                z, lack = z * weight, lack * tl.sum(live, axis=0)
            lack = tl.reshape(lack * lack, (TILE // 8, 4, 2))
            unbalanced += tl.sum(tl.sum(lack, axis=2), axis=0)
            mass += along(z, K, TILE)
            z, z_rest = halves(z, False)
            points_sum = product(z, z_rest, b, b_rest, points_sum, LEAN)
        tl.store(out + entry, tl.load(out + entry) + points_sum)
    _write(
        out + K * D, cluster, mass, valued if ROWS else mass, moved, outside, squares, radius,
        unbalanced, K,
    )  # fmt: skip
