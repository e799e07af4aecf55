/* Reductions over the rows of a matrix. Rows are cut into at most MAX_CHUNKS chunks, a chunk into
 * blocks of BLOCK_ROWS; a block is summed in float while it is in cache, blocks are gathered into
 * the chunk's two columns of doubles in scratch, chunks are combined in order at the end. */
#include <math.h>
#include <string.h>

#include "backend/cpu/native.h"
#include "backend/cpu/native_int.h"
#include "backend/cpu/parallel.h"

static size_t chunk_rows(size_t m)
{
    const size_t per_chunk = (m + MAX_CHUNKS - 1) / MAX_CHUNKS;

    return (per_chunk + BLOCK_ROWS - 1) / BLOCK_ROWS * BLOCK_ROWS;
}

static size_t chunk_count(size_t m)
{
    return m == 0 ? 0 : (m - 1) / chunk_rows(m) + 1;
}

/* Of a chunk: two rows of c doubles, then three of c floats for the current block. */
static size_t chunk_bytes(size_t c)
{
    return (2 * c * sizeof(double) + 3 * c * sizeof(float) + 63) / 64 * 64;
}

size_t cpu_columns_scratch(size_t m, size_t c)
{
    return chunk_count(m) * chunk_bytes(c);
}

struct chunk {
    double *first, *second;
    float *block_first, *block_second, *block_third;
    size_t begin, end; /* rows */
};

static struct chunk chunk_at(void *scratch, size_t m, size_t c, size_t i)
{
    double *const first = (double *)(void *)((char *)scratch + i * chunk_bytes(c));
    float *const block = (float *)(void *)(first + 2 * c);
    const size_t begin = i * chunk_rows(m), end = begin + chunk_rows(m);

    return (struct chunk){first, first + c,        block, block + c, block + 2 * c,
                          begin, end < m ? end : m};
}

INLINE void add_row(float *restrict sum, const float *restrict x, size_t c)
{
    for (size_t j = 0; j < c; j++)
        sum[j] += x[j];
}

/* Columns whose sums stay in registers while the rows of a block pass. */
enum { STRIP = 64 };

/* Of n columns (a constant) from column j on, over a block's rows: sums of d = x - shift and of its
 * squares. */
INLINE void strip_sums(const struct cpu_bn_stats *a, const struct chunk *k, const size_t range[2],
                       size_t j, size_t n, enum dtype type)
{
    float shift[STRIP], sum[STRIP], squares[STRIP];

    for (size_t i = 0; i < n; i++) {
        shift[i] = k->block_third[j + i];
        sum[i] = squares[i] = 0;
    }
    for (size_t row = range[0]; row < range[1]; row++) {
        const void *const x = element(a->x, row * a->c + j, type);

        for (size_t i = 0; i < n; i++) {
            const float d = load(x, i, type) - shift[i];

            squares[i] += d * d;
            sum[i] += d;
        }
    }
    for (size_t i = 0; i < n; i++) {
        k->block_first[j + i] = sum[i];
        k->block_second[j + i] = squares[i];
    }
}

/* Chan, Golub, LeVeque 1979: joins (mean, squares about it) of two sets. share is the second set's
 * part of all rows, n_first the rows in the first. */
INLINE void join(double *restrict mean, double *restrict squares, double mean2, double squares2,
                 double share, double n_first)
{
    const double delta = mean2 - *mean;

    *mean += delta * share;
    *squares += squares2 + delta * delta * n_first * share;
}

/* The rows from range[0] to range[1] of a chunk. Sums are taken about block_third: the mean of the
 * block before, of the first block its first row. Near the mean or one of the values itself, so
 * that sum^2 / rows is never much more than the squares that all rows have about their mean. */
INLINE void stats_block(const struct cpu_bn_stats *a, const struct chunk *k, const size_t range[2],
                        enum dtype type)
{
    const size_t c = a->c, rows = range[1] - range[0], before = range[0] - k->begin;
    const double per_row = 1.0 / (double)rows, share = (double)rows / (double)(before + rows);
    size_t j = 0;

    for (; j + STRIP <= c; j += STRIP)
        strip_sums(a, k, range, j, STRIP, type);
    for (; j < c; j++)
        strip_sums(a, k, range, j, 1, type);
    for (j = 0; j < c; j++) {
        const double sum = (double)k->block_first[j], off = sum * per_row;
        const double mean = (double)k->block_third[j] + off;

        join(&k->first[j], &k->second[j], mean, (double)k->block_second[j] - sum * off, share,
             (double)before);
        k->block_third[j] = (float)mean;
    }
}

INLINE size_t block_end(size_t row, size_t end)
{
    return end - row < BLOCK_ROWS ? end : row + BLOCK_ROWS;
}

INLINE void stats_chunks_of(const struct cpu_bn_stats *a, size_t begin, size_t end, enum dtype type)
{
    for (size_t i = begin; i < end; i++) {
        const struct chunk k = chunk_at(a->scratch, a->m, a->c, i);

        memset(k.first, 0, 2 * a->c * sizeof(double));
        for (size_t j = 0; j < a->c; j++)
            k.block_third[j] = load(a->x, k.begin * a->c + j, type);
        for (size_t row = k.begin; row < k.end; row += BLOCK_ROWS)
            stats_block(a, &k, (const size_t[]){row, block_end(row, k.end)}, type);
    }
}

TYPED(stats_chunks, cpu_bn_stats)

VECTORISED
static void stats_columns(void *arg, size_t begin, size_t end)
{
    const struct cpu_bn_stats *a = arg;
    const struct chunk all = chunk_at(a->scratch, a->m, a->c, 0);
    const size_t chunks = chunk_count(a->m);

    for (size_t i = 1; i < chunks; i++) {
        const struct chunk k = chunk_at(a->scratch, a->m, a->c, i);

        for (size_t j = begin; j < end; j++)
            join(&all.first[j], &all.second[j], k.first[j], k.second[j],
                 (double)(k.end - k.begin) / (double)k.end, (double)k.begin);
    }
    for (size_t j = begin; j < end; j++) {
        a->mean[j] = (float)all.first[j];
        a->var[j] = (float)(all.second[j] / (double)a->m);
    }
}

void cpu_bn_stats(int threads, const struct cpu_bn_stats *a)
{
    cpu_parallel((struct cpu_split){threads, chunk_count(a->m), 1}, stats_chunks, (void *)a);
    cpu_parallel((struct cpu_split){threads, a->c, COLUMN_GRAIN}, stats_columns, (void *)a);
}

INLINE void to_chunk(const struct chunk *k, size_t c)
{
    for (size_t j = 0; j < c; j++) {
        k->first[j] += (double)k->block_first[j];
        k->second[j] += (double)k->block_second[j];
    }
    memset(k->block_first, 0, 2 * c * sizeof(float));
}

/* What of dy counts where the value before the ReLU is v. */
INLINE float past_relu(float dy, float v)
{
    return v > 0 ? dy : 0;
}

INLINE void grad_row(const struct cpu_bn_grad_reduce *a, const struct chunk *k, size_t row,
                     enum dtype type)
{
    const void *restrict x = element(a->x, row * a->c, type);
    const void *restrict dy = element(a->dy, row * a->c, type);
    const float *restrict mean = a->mean;
    float *restrict dgamma = k->block_first, *restrict dbeta = k->block_second;

    for (size_t j = 0; j < a->c; j++) {
        const float d = load(dy, j, type);

        dgamma[j] += d * (load(x, j, type) - mean[j]);
        dbeta[j] += d;
    }
}

INLINE void grad_relu_row(const struct cpu_bn_grad_reduce *a, const struct chunk *k, size_t row,
                          enum dtype type)
{
    const void *restrict x = element(a->x, row * a->c, type);
    const void *restrict dy = element(a->dy, row * a->c, type);
    const float *restrict mean = a->mean, *restrict invstd = a->invstd;
    const float *restrict gamma = a->gamma, *restrict beta = a->beta;
    float *restrict dgamma = k->block_first, *restrict dbeta = k->block_second;

#pragma GCC ivdep
    for (size_t j = 0; j < a->c; j++) {
        const float centred = load(x, j, type) - mean[j];
        const float d = past_relu(load(dy, j, type), centred * (gamma[j] * invstd[j]) + beta[j]);

        dgamma[j] += d * centred;
        dbeta[j] += d;
    }
}

INLINE void grad_chunks_of(const struct cpu_bn_grad_reduce *a, size_t begin, size_t end,
                           enum dtype type)
{
    for (size_t i = begin; i < end; i++) {
        const struct chunk k = chunk_at(a->scratch, a->m, a->c, i);

        memset(k.first, 0, 2 * a->c * (sizeof(double) + sizeof(float)));
        for (size_t row = k.begin; row < k.end; row += BLOCK_ROWS) {
            for (size_t r = row; r < block_end(row, k.end) && !a->beta; r++)
                grad_row(a, &k, r, type);
            for (size_t r = row; r < block_end(row, k.end) && a->beta; r++)
                grad_relu_row(a, &k, r, type);
            to_chunk(&k, a->c);
        }
    }
}

TYPED(grad_chunks, cpu_bn_grad_reduce)

/* Adds the other chunks to the first. */
INLINE void combine_sums(void *scratch, size_t m, size_t c, size_t begin, size_t end)
{
    const struct chunk all = chunk_at(scratch, m, c, 0);
    const size_t chunks = chunk_count(m);

    for (size_t i = 1; i < chunks; i++) {
        const struct chunk k = chunk_at(scratch, m, c, i);

        for (size_t j = begin; j < end; j++) {
            all.first[j] += k.first[j];
            all.second[j] += k.second[j];
        }
    }
}

static void grad_columns(void *arg, size_t begin, size_t end)
{
    const struct cpu_bn_grad_reduce *a = arg;
    const struct chunk all = chunk_at(a->scratch, a->m, a->c, 0);

    combine_sums(a->scratch, a->m, a->c, begin, end);
    for (size_t j = begin; j < end; j++) {
        a->dgamma[j] = (float)(all.first[j] * (double)a->invstd[j]);
        a->dbeta[j] = (float)all.second[j];
    }
}

void cpu_bn_grad_reduce(int threads, const struct cpu_bn_grad_reduce *a)
{
    cpu_parallel((struct cpu_split){threads, chunk_count(a->m), 1}, grad_chunks, (void *)a);
    cpu_parallel((struct cpu_split){threads, a->c, COLUMN_GRAIN}, grad_columns, (void *)a);
}

VECTORISED
static void sum_chunks(void *arg, size_t begin, size_t end)
{
    const struct cpu_column_sum *a = arg;

    for (size_t i = begin; i < end; i++) {
        const struct chunk k = chunk_at(a->scratch, a->m, a->c, i);

        memset(k.first, 0, 2 * a->c * (sizeof(double) + sizeof(float)));
        for (size_t row = k.begin; row < k.end; row += BLOCK_ROWS) {
            for (size_t r = row; r < block_end(row, k.end); r++)
                add_row(k.block_first, a->src + r * a->c, a->c);
            to_chunk(&k, a->c);
        }
    }
}

static void sum_columns(void *arg, size_t begin, size_t end)
{
    const struct cpu_column_sum *a = arg;
    const struct chunk all = chunk_at(a->scratch, a->m, a->c, 0);

    combine_sums(a->scratch, a->m, a->c, begin, end);
    for (size_t j = begin; j < end; j++)
        a->dst[j] = (float)all.first[j];
}

void cpu_column_sum(int threads, const struct cpu_column_sum *a)
{
    cpu_parallel((struct cpu_split){threads, chunk_count(a->m), 1}, sum_chunks, (void *)a);
    cpu_parallel((struct cpu_split){threads, a->c, COLUMN_GRAIN}, sum_columns, (void *)a);
}

/* gamma invstd of each column, the same bits in both directions: ReLU's mask depends on them. */
static float *scales(const float *gamma, const float *invstd, size_t c, float *scale)
{
    for (size_t j = 0; j < c; j++)
        scale[j] = gamma[j] * invstd[j];
    return scale;
}

/* One pass, since y may be the residual's memory. */
INLINE void apply_row(const struct cpu_bn_apply *a, size_t row, enum dtype type)
{
    const float *restrict mean = a->mean, *restrict scale = a->scratch, *restrict beta = a->beta;
    const float least = a->relu ? 0 : -INFINITY;
    const void *const x = element(a->x, row * a->c, type);
    const void *const residual = a->residual ? element(a->residual, row * a->c, type) : NULL;
    void *const y = element(a->y, row * a->c, type);

    if (residual) {
#pragma GCC ivdep
        for (size_t j = 0; j < a->c; j++) {
            const float v =
                (load(x, j, type) - mean[j]) * scale[j] + beta[j] + load(residual, j, type);

            store(y, j, type, v < least ? least : v);
        }
    } else {
#pragma GCC ivdep
        for (size_t j = 0; j < a->c; j++) {
            const float v = (load(x, j, type) - mean[j]) * scale[j] + beta[j];

            store(y, j, type, v < least ? least : v);
        }
    }
}

INLINE void apply_rows_of(const struct cpu_bn_apply *a, size_t begin, size_t end, enum dtype type)
{
    for (size_t row = begin; row < end; row++)
        apply_row(a, row, type);
}

TYPED(apply_rows, cpu_bn_apply)

void cpu_bn_apply(int threads, const struct cpu_bn_apply *a)
{
    scales(a->gamma, a->invstd, a->c, a->scratch);
    cpu_parallel((struct cpu_split){threads, a->m, row_grain(a->c)}, apply_rows, (void *)a);
}

/* dx = scale d + (x - mean) slope + offset, in a row of each in scratch. */
static void grad_constants(const struct cpu_bn_grad_apply *a)
{
    const float *const scale = scales(a->gamma, a->invstd, a->c, a->scratch);
    float *const slope = a->scratch + a->c, *const offset = slope + a->c;
    const float per_row = a->frozen ? 0 : 1.0F / (float)a->m;

    for (size_t j = 0; j < a->c; j++) {
        slope[j] = -scale[j] * per_row * a->invstd[j] * a->dgamma[j];
        offset[j] = -scale[j] * per_row * a->dbeta[j];
    }
}

INLINE void grad_apply_row(const struct cpu_bn_grad_apply *a, size_t row, enum dtype type)
{
    const float *restrict mean = a->mean, *restrict beta = a->beta, *restrict scale = a->scratch;
    const float *restrict slope = a->scratch + a->c, *restrict offset = a->scratch + 2 * a->c;
    const void *const x = element(a->x, row * a->c, type);
    const void *const dy = element(a->dy, row * a->c, type);
    void *const dx = element(a->dx, row * a->c, type);

    if (beta) {
#pragma GCC ivdep
        for (size_t j = 0; j < a->c; j++) {
            const float centred = load(x, j, type) - mean[j];
            const float d = past_relu(load(dy, j, type), centred * scale[j] + beta[j]);

            store(dx, j, type, scale[j] * d + (centred * slope[j] + offset[j]));
        }
    } else {
#pragma GCC ivdep
        for (size_t j = 0; j < a->c; j++)
            store(dx, j, type,
                  scale[j] * load(dy, j, type) +
                      ((load(x, j, type) - mean[j]) * slope[j] + offset[j]));
    }
}

INLINE void grad_rows_of(const struct cpu_bn_grad_apply *a, size_t begin, size_t end,
                         enum dtype type)
{
    for (size_t row = begin; row < end; row++)
        grad_apply_row(a, row, type);
}

TYPED(grad_rows, cpu_bn_grad_apply)

void cpu_bn_grad_apply(int threads, const struct cpu_bn_grad_apply *a)
{
    grad_constants(a);
    cpu_parallel((struct cpu_split){threads, a->m, row_grain(a->c)}, grad_rows, (void *)a);
}
