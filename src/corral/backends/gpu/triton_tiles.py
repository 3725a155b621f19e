"""Parts of the kernels: how tiles are loaded, multiplied, summed and stored.

The state is stored in slabs of 16 groups, (slab, cluster, group in the slab).  A thread that loads
four neighbours of a slab then holds the same entries as the result of the matrix units gives it,
so that the permutations below move nothing between threads.  The permutations depend on ``WARPS``;
only the speed depends on them.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def halves(a, ROUND: tl.constexpr):
    """A float32 as the sum of two bfloat16."""
    bits = a.to(tl.int32, bitcast=True)
    if ROUND:
        bits += 0x8000
    top = bits & -65536
    rest = a - top.to(tl.float32, bitcast=True)
    high = (top >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)
    return high, rest.to(tl.bfloat16)


#: Triton's interpreter, where tests run without a GPU, cannot multiply bfloat16.
INTERPRETED = tl.constexpr(not isinstance(halves, triton.JITFunction))


@triton.jit
def unpack(packed, centers, others, n_centers, n, BLOCK: tl.constexpr):
    """Take over the host's numbers from its own memory: centres in halves, the others as they are.

    A copy to the device first would keep the kernels waiting longer than this takes.
    """
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    number = tl.load(packed + i, mask=i < n, other=0.0)
    high, low = halves(number, True)
    tl.store(centers + i, high, mask=i < n_centers)
    tl.store(centers + n_centers + i, low, mask=i < n_centers)
    tl.store(others + (i - n_centers), number, mask=(i >= n_centers) & (i < n))


@triton.jit
def product(a, a_rest, b, b_rest, start, LEAN: tl.constexpr):
    """``start + (a + a_rest) @ (b + b_rest)`` but for small terms."""
    if INTERPRETED:
        a, a_rest = a.to(tl.float32), a_rest.to(tl.float32)
        b, b_rest = b.to(tl.float32), b_rest.to(tl.float32)
    if not LEAN:
        start = tl.dot(a, b_rest, start)
    start = tl.dot(a_rest, b, start)
    return tl.dot(a, b, start)


@triton.jit
def fetch(first, n, MOST: tl.constexpr):
    """Have the device bring n numbers, 1 to MOST, into its cache: it has lines of 32."""
    line = tl.minimum(tl.arange(0, (MOST + 31) // 32) * 32, n - 1)
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;",
        "=r,l",
        [first + line],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def clip(a):
    """Between 0 and 1."""
    return tl.minimum(tl.maximum(a, 0.0), 1.0)


@triton.jit
def clusters(K: tl.constexpr, WARPS: tl.constexpr):
    """Clusters in the order in which rows of a product belong to lanes and warps."""
    q = tl.arange(0, K)
    return q // (16 * WARPS) * (16 * WARPS) + q // 8 % 2 * (8 * WARPS) + q // 16 % WARPS * 8 + q % 8


@triton.jit
def groups(TILE: tl.constexpr):
    """Groups of a tile in the order in which columns of a product belong to lanes."""
    j = tl.arange(0, TILE)
    return j // 16 * 16 + j // 2 % 4 * 4 + j // 8 % 2 * 2 + j % 2


@triton.jit
def offsets(k, K: tl.constexpr, TILE: tl.constexpr):
    """Where a tile of the state lies after its first entry, and whether there is a cluster."""
    r = tl.arange(0, TILE // 16 * K)
    offset = (r // K * (16 * k) + r % K * 16)[:, None] + tl.arange(0, 16)[None, :]
    return offset, (r % K < k)[:, None]


@triton.jit
def take(state, offset, mask, K: tl.constexpr, TILE: tl.constexpr, WARPS: tl.constexpr):
    """A tile of the state, (K, TILE) in the order of :func:`clusters` and :func:`groups`."""
    a = tl.load(state + offset, mask=mask, other=0.0)
    a = tl.reshape(a, (TILE // 16, K // (16 * WARPS), 2, WARPS, 8, 4, 2, 2))
    return tl.reshape(tl.permute(a, (1, 3, 2, 4, 0, 6, 5, 7)), (K, TILE))


@triton.jit
def give(state, offset, mask, a, K: tl.constexpr, TILE: tl.constexpr, WARPS: tl.constexpr):
    """Put back what :func:`take` took."""
    a = tl.reshape(a, (K // (16 * WARPS), WARPS, 2, 8, TILE // 16, 2, 4, 2))
    a = tl.reshape(tl.permute(a, (4, 0, 2, 1, 3, 6, 5, 7)), (TILE // 16 * K, 16))
    tl.store(state + offset, a, mask=mask)


@triton.jit
def along(a, K: tl.constexpr, TILE: tl.constexpr):
    """Sums over those groups of a tile that one thread holds, (K, 4)."""
    return tl.sum(tl.sum(tl.reshape(a, (K, TILE // 8, 4, 2)), axis=3), axis=1)


@triton.jit
def within(a, K: tl.constexpr, TILE: tl.constexpr, WARPS: tl.constexpr):
    """Sums over all entries of a tile that one thread holds, (WARPS, 8, 4)."""
    a = tl.reshape(a, (K // (16 * WARPS), WARPS, 2, 8, TILE // 8, 4, 2))
    return tl.sum(tl.sum(tl.sum(tl.sum(a, axis=6), axis=4), axis=2), axis=0)


@triton.jit
def load(
    points, order, v1, v2, offset, mask, tile, m, d, k,
    SPHERE: tl.constexpr, ROWS: tl.constexpr, GATHER: tl.constexpr,
    K: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """``v1``, ``v2`` and the points of a tile."""
    start = tile * (k * tl.full((), TILE, tl.int64))
    a = take(v1 + start, offset, mask, K, TILE, WARPS)
    s = a
    if SPHERE:
        s = take(v2 + start, offset, mask, K, TILE, WARPS)
    place, feature = tile * TILE + groups(TILE), tl.arange(0, D)
    there = (feature < d)[None, :]
    if GATHER:
        place = tl.load(order + place)
    if ROWS:
        there = there & (place < m)[:, None]
    where = place.to(tl.int64)[:, None] * d + feature[None, :]
    return a, s, tl.load(points + where, mask=there, other=0.0)
