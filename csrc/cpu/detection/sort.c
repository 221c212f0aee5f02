/* Sorting keys and pairs on the CPU; see collision_loops.h. */
#include "cpu/context.h"

#include "loops/collision_loops.h"

#include <string.h>

/* Bits of a digit: 2^DIGIT buckets are written at the same time, and 4096 lines still fit the second-level cache. Digits of 8 to 11 bits
 * are slower. */
enum { DIGIT = 12, SHORT_DIGIT = 8, FEW_KEYS = 1 << 15, MOST_PARTS = 64 };

/* Pairs of a bucket: sorted within the first-level cache. Sizes from 1024 to 16384 make no difference. */
enum { BUCKET = 2048, BUCKET_DIGIT = 9, INSERTION = 24 };

/* Counts of MOST_PARTS parts. */
pd_status pd_work_bytes(pd_context *context, size_t n, size_t *bytes) {
    (void)context, (void)n;
    *bytes = (MOST_PARTS << DIGIT) * sizeof(uint32_t);
    return PD_OK;
}

/* Each part of the keys has its own counts: one part per thread, since the result does not depend on the number of parts. */
static int parts_of(const pd_context *context, size_t n) {
    int parts = pd_threads(context, (long long)n, 5);
    return parts < MOST_PARTS ? parts : MOST_PARTS;
}

static size_t part_start(size_t n, int part, int parts) { return n * (size_t)part / (size_t)parts; }

static void count_digits(size_t n, const uint64_t *keys, int bit, size_t n_buckets, uint32_t *count) {
    memset(count, 0, n_buckets * sizeof *count);
    for (size_t i = 0; i < n; i++) count[keys[i] >> bit & (n_buckets - 1)]++;
}

/* Turns counts of [parts,n_buckets] into places: within a bucket, the keys of a part follow those of the parts before it. */
static void places_of_counts(int parts, size_t n_buckets, uint32_t *counts) {
    uint32_t sum = 0;
    for (size_t bucket = 0; bucket < n_buckets; bucket++)
        for (int part = 0; part < parts; part++) {
            uint32_t *slot = &counts[(size_t)part * n_buckets + bucket], count = *slot;
            *slot = sum;
            sum += count;
        }
}

static void move_to_places(size_t n, const uint64_t *from, int bit, size_t n_buckets, uint32_t *slot, uint64_t *to) {
    for (size_t i = 0; i < n; i++) to[slot[from[i] >> bit & (n_buckets - 1)]++] = from[i];
}

/* Moves keys to the bucket of their digit, the bits from `bit` on; a stable sort. The counts of the last part are then the ends of the
 * buckets. */
static void move_to_buckets(size_t n, int parts, int bit, size_t n_buckets, const uint64_t *from, uint64_t *to, uint32_t *counts) {
#pragma omp parallel num_threads(parts)
    {
#pragma omp for schedule(static)
        for (int part = 0; part < parts; part++) {
            size_t start = part_start(n, part, parts);
            count_digits(part_start(n, part + 1, parts) - start, from + start, bit, n_buckets, counts + (size_t)part * n_buckets);
        }
#pragma omp single
        places_of_counts(parts, n_buckets, counts);
#pragma omp for schedule(static)
        for (int part = 0; part < parts; part++) {
            size_t start = part_start(n, part, parts);
            move_to_places(part_start(n, part + 1, parts) - start, from + start, bit, n_buckets, counts + (size_t)part * n_buckets, to);
        }
    }
}

/* Least significant digit first. */
pd_status pd_sort_keys(pd_context *context, size_t n, int first_bit, int last_bit, uint64_t *keys, uint64_t *scratch, const pd_work *work) {
    int most = n < FEW_KEYS ? SHORT_DIGIT : DIGIT, passes = (last_bit - first_bit + most - 1) / most;
    uint64_t *from = keys, *to = scratch;
    for (int pass = 0, bit = first_bit; pass < passes; pass++) {
        int width = (last_bit - bit) / (passes - pass);
        move_to_buckets(n, parts_of(context, n), bit, (size_t)1 << width, from, to, work->memory);
        bit += width;
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys && n > 0) memcpy(keys, from, n * sizeof *keys);
    return PD_OK;
}

/* Sorts few keys by their lowest bits. Returns the one of the two arrays that holds the result. */
static const uint64_t *sort_bucket(size_t n, int bits, uint64_t *keys, uint64_t *scratch) {
    uint32_t counts[1 << BUCKET_DIGIT];
    int passes = (bits + BUCKET_DIGIT - 1) / BUCKET_DIGIT;
    if (n <= INSERTION) {
        for (size_t i = 1; i < n; i++) {
            uint64_t key = keys[i];
            size_t slot = i;
            for (; slot > 0 && keys[slot - 1] > key; slot--) keys[slot] = keys[slot - 1];
            keys[slot] = key;
        }
        return keys;
    }
    for (int pass = 0, bit = 0; pass < passes; pass++) {
        int width = (bits - bit) / (passes - pass);
        count_digits(n, keys, bit, (size_t)1 << width, counts);
        places_of_counts(1, (size_t)1 << width, counts);
        move_to_places(n, keys, bit, (size_t)1 << width, counts, scratch);
        bit += width;
        uint64_t *swap = keys;
        keys = scratch;
        scratch = swap;
    }
    return keys;
}

pd_status pd_pad_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer) {
    (void)context;
    for (size_t i = (size_t)*buffer->found; i < n; i++) buffer->keys[i] = UINT64_MAX;
    return PD_OK;
}

/* Most significant digit first, into buckets of the size of a cache, each sorted by itself. Faster than all pairs digit by digit. */
pd_status pd_sort_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer, uint64_t *scratch, const pd_work *work, int *pairs) {
    uint32_t *counts = work->memory;
    uint64_t mask = ((uint64_t)1 << buffer->second_bits) - 1;
    int parts = parts_of(context, n), key_bits = buffer->first_bits + buffer->second_bits, bits = 0;
    while (bits < key_bits && bits < DIGIT && n >> bits > BUCKET) bits++;
    size_t n_buckets = (size_t)1 << bits;
    move_to_buckets(n, parts, key_bits - bits, n_buckets, buffer->keys, scratch, counts);
    const uint32_t *ends = counts + (size_t)(parts - 1) * n_buckets;
#pragma omp parallel for schedule(dynamic, 8) num_threads(parts)
    for (size_t bucket = 0; bucket < n_buckets; bucket++) {
        size_t start = bucket > 0 ? ends[bucket - 1] : 0, count = ends[bucket] - start;
        const uint64_t *sorted = sort_bucket(count, key_bits - bits, scratch + start, buffer->keys + start);
        for (size_t i = 0; i < count; i++) {
            pairs[2 * (start + i)] = (int)(sorted[i] >> buffer->second_bits);
            pairs[2 * (start + i) + 1] = (int)(sorted[i] & mask);
        }
    }
    return PD_OK;
}
