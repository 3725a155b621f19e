"""The two passes of an iteration as Triton kernels: every number of the state once in, once out.

A program takes tile after tile of ``TILE`` groups.  What it needs of the points and of the state
it loads once; x is made anew in each of the two passes, which moves fewer bytes than storing it.
Sums stay in the program and are written once at its end, so that adding them up has one order.

The state lies in slabs of 16 groups, (slab, cluster, group in the slab).  A thread that loads four
neighbours of a slab then holds what the matrix units hand it of the costs: the permutations below
move nothing between threads.  They depend on ``WARPS``, and only speed does.

Products of float32 are made of three products of bfloat16 halves, which keeps 16 bits of each
factor.  The sums of a tile start from zero and are added up outside of the matrix units, which
round towards zero.

What the solver says of the state holds here but for two changes.  ``v2`` is held less 1/2.  The
mean of a row's right side is not summed up: the centres are centred over the clusters, so that a
row's costs sum to nothing, and the sums of ``v1``, of ``clip(v1)`` and of ``v2`` over the clusters
are held with the state, in ``sums``.
"""

from __future__ import annotations

import triton
import triton.language as tl

#: Room for single numbers after what a program sums by cluster.
SPARE = 16


@triton.jit
def _halves(a, ROUND: tl.constexpr):
    """A float32 as the sum of two bfloat16."""
    bits = a.to(tl.int32, bitcast=True)
    if ROUND:
        bits += 0x8000
    top = bits & -65536
    rest = a - top.to(tl.float32, bitcast=True)
    high = (top >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)
    return high, rest.to(tl.bfloat16)


#: Triton's interpreter, where tests run without a GPU, cannot multiply bfloat16.
INTERPRETED = tl.constexpr(not isinstance(_halves, triton.JITFunction))


@triton.jit
def _product(a, a_rest, b, b_rest):
    """``(a + a_rest) @ (b + b_rest)`` but for the product of the rests; small terms first."""
    if INTERPRETED:
        a, a_rest = a.to(tl.float32), a_rest.to(tl.float32)
        b, b_rest = b.to(tl.float32), b_rest.to(tl.float32)
    small = tl.dot(a, b_rest)
    small = tl.dot(a_rest, b, small)
    return tl.dot(a, b, small)


@triton.jit
def _clip(a):
    return tl.minimum(tl.maximum(a, 0.0), 1.0)


@triton.jit
def _clusters(K: tl.constexpr, WARPS: tl.constexpr):
    """Clusters in the order in which rows of a product belong to lanes and warps."""
    q = tl.arange(0, K)
    return q // (16 * WARPS) * (16 * WARPS) + q // 8 % 2 * (8 * WARPS) + q // 16 % WARPS * 8 + q % 8


@triton.jit
def _groups(TILE: tl.constexpr):
    """Groups of a tile in the order in which columns of a product belong to lanes."""
    j = tl.arange(0, TILE)
    return j // 16 * 16 + j // 2 % 4 * 4 + j // 8 % 2 * 2 + j % 2


@triton.jit
def _offsets(k, K: tl.constexpr, TILE: tl.constexpr):
    """Where a tile of the state lies after its first entry, and whether there is a cluster."""
    r = tl.arange(0, TILE // 16 * K)
    offset = (r // K * (16 * k) + r % K * 16)[:, None] + tl.arange(0, 16)[None, :]
    return offset, (r % K < k)[:, None]


@triton.jit
def _take(state, offset, mask, K: tl.constexpr, TILE: tl.constexpr, WARPS: tl.constexpr):
    """A tile of the state, (K, TILE) in the order of :func:`_clusters` and :func:`_groups`."""
    a = tl.load(state + offset, mask=mask, other=0.0)
    a = tl.reshape(a, (TILE // 16, K // (16 * WARPS), 2, WARPS, 8, 4, 2, 2))
    return tl.reshape(tl.permute(a, (1, 3, 2, 4, 0, 6, 5, 7)), (K, TILE))


@triton.jit
def _give(state, offset, mask, a, K: tl.constexpr, TILE: tl.constexpr, WARPS: tl.constexpr):
    """Put back what :func:`_take` took."""
    a = tl.reshape(a, (K // (16 * WARPS), WARPS, 2, 8, TILE // 16, 2, 4, 2))
    a = tl.reshape(tl.permute(a, (4, 0, 2, 1, 3, 6, 5, 7)), (TILE // 16 * K, 16))
    tl.store(state + offset, a, mask=mask)


@triton.jit
def _along(a, K: tl.constexpr, TILE: tl.constexpr):
    """Sums over those groups of a tile that one thread holds, (K, 4)."""
    return tl.sum(tl.sum(tl.reshape(a, (K, TILE // 8, 4, 2)), axis=3), axis=1)


@triton.jit
def _points(
    points, order, place, m, d, ROWS: tl.constexpr, GATHER: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """The points of a tile, (TILE, D), in halves."""
    feature = tl.arange(0, D)
    mask = (feature < d)[None, :]
    if GATHER:
        place = tl.load(order + place)
    if ROWS:
        mask = mask & (place < m)[:, None]
    offset = place.to(tl.int64)[:, None] * d + feature[None, :]
    return _halves(tl.load(points + offset, mask=mask, other=0.0), True)


@triton.jit
def _solution(
    points, order, v1, v2, sums, rows, pull, bonds, high, low, columns, cluster, offset, mask,
    tile, m, first, length, d, k, e, inverse, clipped, plain, sphere, share,
    SPHERE: tl.constexpr, ROWS: tl.constexpr, PULLED: tl.constexpr, GATHER: tl.constexpr,
    K: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """Solve the x-system of a tile without totals; give what it was made of, too.

    Returns
    -------
    x, v1, v2 : (K, TILE)
    points, rest : (TILE, D)
        In halves.
    part : (TILE,)
        The inverse of the diagonal in that of a group that nothing pulls.
    dual, sphere : (TILE,)
        Sums of ``v1 - clip(v1)`` and of v2 over the clusters.
    """
    place = tile * TILE + _groups(TILE)
    start = tile * (k * tl.full((), TILE, tl.int64))
    b, b_rest = _points(points, order, place, m, d, ROWS, GATHER, D)
    a = _take(v1 + start, offset, mask, K, TILE, WARPS)
    s = a
    whole, inside = tl.load(sums + place), tl.load(sums + length + place)
    mean = clipped * inside + plain * whole
    part = tl.full((TILE,), 1.0, tl.float32)
    s_sum = whole
    if SPHERE:
        s = _take(v2 + start, offset, mask, K, TILE, WARPS)
        s_sum = tl.load(sums + 2 * length + place)
        mean += sphere * s_sum
    x = _product(high, low, b.T, b_rest.T) + tl.load(columns + cluster)[:, None]
    if ROWS:
        x = x * tl.load(rows + (place - first * TILE))[None, :]
    if PULLED:
        x = _take(pull + start, offset, mask, K, TILE, WARPS) * inverse + x
        part = 1.0 / (1.0 + inverse * tl.load(bonds + place))
        mean += inverse * tl.load(bonds + e + place)
    x = _clip(a) * clipped + x
    x = a * plain + x
    if SPHERE:
        x = s * sphere + x
    x -= (mean * share)[None, :]
    if PULLED:
        x = x * part[None, :]
    if ROWS:
        x += tl.load(columns + K + cluster)[:, None]
    return x, a, s, b, b_rest, part, whole - inside, s_sum


@triton.jit
def forward(
    points, order, v1, v2, sums, rows, pull, bonds, centers, columns, partial,
    m, first, last, length, d, k, e, inverse, clipped, plain, sphere, share,
    SPHERE: tl.constexpr, ROWS: tl.constexpr, PULLED: tl.constexpr, GATHER: tl.constexpr,
    K: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr, WARPS: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """A program's ``t' x``, (K,), of the x-system without totals, and ``sum t t / (r a)``."""
    cluster = _clusters(K, WARPS)
    entry = cluster[:, None] * D + tl.arange(0, D)[None, :]
    high, low = tl.load(centers + entry), tl.load(centers + K * D + entry)
    offset, mask = _offsets(k, K, TILE)
    totals = tl.zeros((K, 4), tl.float32)
    gram = tl.zeros((TILE,), tl.float32)
    for tile in tl.range(first + tl.program_id(0), last, tl.num_programs(0), num_stages=STAGES):
        x, _a, _s, _b, _rest, part, _dual, _sphere = _solution(
            points, order, v1, v2, sums, rows, pull, bonds, high, low, columns, cluster, offset,
            mask, tile, m, first, length, d, k, e, inverse, clipped, plain, sphere, share,
            SPHERE, ROWS, PULLED, GATHER, K, TILE, D, WARPS,
        )  # fmt: skip
        if ROWS:
            own = rows + ((tile - first) * TILE + _groups(TILE))
            stride = (last - first) * TILE
            value = tl.load(own + 3 * stride)
            gram += value * tl.load(own + 4 * stride) * part
            x = x * value[None, :]
        totals += _along(x, K, TILE)
    out = partial + tl.program_id(0) * (K + 16)
    tl.store(out + cluster, tl.sum(totals, axis=1))
    tl.store(out + K, tl.sum(gram))


@triton.jit
def _balance(
    sums, tile, z, dual, sphere, length, k, ratio, fade,
    SPHERE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Hold the sums of the new state of a tile; give what rows of ``z`` have above one."""
    own = sums + (tile * TILE + _groups(TILE))
    total = tl.sum(z, axis=0)
    tl.store(own, dual * ratio + 1.0)
    tl.store(own + length, total)
    if SPHERE:
        tl.store(own + 2 * length, sphere * fade + (1.0 - 0.5 * k))
    return total - 1.0


@triton.jit
def backward(
    points, order, v1, v2, sums, rows, pull, bonds, centers, columns, partial, kept,
    m, first, last, length, d, k, e, inverse, clipped, plain, sphere, share, ratio, fade, one,
    SPHERE: tl.constexpr, ROWS: tl.constexpr, PULLED: tl.constexpr, GATHER: tl.constexpr,
    KEEP: tl.constexpr, K: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
    WARPS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Move the state of a program's tiles, and sum what the next iteration needs."""
    cluster = _clusters(K, WARPS)
    entry = cluster[:, None] * D + tl.arange(0, D)[None, :]
    high, low = tl.load(centers + entry), tl.load(centers + K * D + entry)
    offset, mask = _offsets(k, K, TILE)
    points_sum = tl.zeros((K, D), tl.float32)
    mass = tl.zeros((K, 4), tl.float32)
    moved = tl.zeros((K, 4), tl.float32)
    outside = tl.zeros((K, 4), tl.float32)
    squares = tl.zeros((K, 4), tl.float32)
    radius = tl.zeros((K, 4), tl.float32)
    unbalanced = tl.zeros((TILE,), tl.float32)
    for tile in tl.range(first + tl.program_id(0), last, tl.num_programs(0), num_stages=STAGES):
        x, a, s, b, b_rest, part, dual, s_sum = _solution(
            points, order, v1, v2, sums, rows, pull, bonds, high, low, columns, cluster, offset,
            mask, tile, m, first, length, d, k, e, inverse, clipped, plain, sphere, share,
            SPHERE, ROWS, PULLED, GATHER, K, TILE, D, WARPS,
        )  # fmt: skip
        start = tile * (k * tl.full((), TILE, tl.int64))
        if ROWS:
            own = rows + ((tile - first) * TILE + _groups(TILE))
            stride = (last - first) * TILE
            weight, metric = tl.load(own + stride)[None, :], tl.load(own + 2 * stride)[None, :]
            live = (metric > 0.0).to(tl.float32)
            theta = tl.load(columns + 2 * K + cluster)[:, None]
            x -= theta * (tl.load(own + 4 * stride) * part)[None, :]
        if KEEP:
            _give(kept + start, offset, mask, x, K, TILE, WARPS)
        old = _clip(a)
        a = (a - old) * ratio + x
        _give(v1 + start, offset, mask, a, K, TILE, WARPS)
        z = _clip(a)
        change, gap, square = tl.abs(z - old), (x - z) * (x - z), x * x
        lack = _balance(sums, tile, z, dual, s_sum, length, k, ratio, fade, SPHERE, TILE)
        if SPHERE:
            s = s * fade + (x - 0.5)
            _give(v2 + start, offset, mask, s, K, TILE, WARPS)
            radius += _along(s * s * metric if ROWS else s * s, K, TILE)
        if ROWS:
            change, gap, square, z = change * live, gap * live, square * metric, z * weight
            lack = lack * tl.sum(live, axis=0)
        moved += _along(change, K, TILE)
        outside += _along(gap, K, TILE)
        squares += _along(square, K, TILE)
        mass += _along(z, K, TILE)
        unbalanced += lack * lack
        z, z_rest = _halves(z, False)
        points_sum += _product(z, z_rest, b, b_rest) * one
    out = partial + tl.program_id(0) * (K * (D + 5) + 16)
    tl.store(out + entry, points_sum)
    out += K * D
    tl.store(out + cluster, tl.sum(mass, axis=1))
    tl.store(out + K + cluster, tl.sum(moved, axis=1))
    tl.store(out + 2 * K + cluster, tl.sum(outside, axis=1))
    tl.store(out + 3 * K + cluster, tl.sum(squares, axis=1))
    tl.store(out + 4 * K + cluster, tl.sum(radius, axis=1))
    tl.store(out + 5 * K, tl.sum(unbalanced))
