/* Reductions over the rows of a matrix. Rows are cut into at most MAX_CHUNKS chunks, a chunk into
 * blocks of BLOCK_ROWS; a block is summed in float while it is in cache, blocks are gathered into
 * the chunk's two columns of doubles in scratch, chunks are combined in order at the end. */
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

/* Sums of what is left after taking the block's mean off, and of its squares. */
INLINE void add_residuals(const struct chunk *k, const float *restrict x, size_t c)
{
    const float *restrict mean = k->block_first;
    float *restrict squares = k->block_second, *restrict left = k->block_third;

    for (size_t j = 0; j < c; j++) {
        const float d = x[j] - mean[j];

        squares[j] += d * d;
        left[j] += d;
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

/* left mends the rounding of the block's mean, which matters when the mean is far from zero. */
INLINE void stats_block(const struct chunk *k, const float *x, size_t c, size_t rows, size_t before)
{
    const float per_row = 1.0F / (float)rows;
    const double share = (double)rows / (double)(before + rows);

    memset(k->block_first, 0, 3 * c * sizeof(float));
    for (size_t i = 0; i < rows; i++)
        add_row(k->block_first, x + i * c, c);
    for (size_t j = 0; j < c; j++)
        k->block_first[j] *= per_row;
    for (size_t i = 0; i < rows; i++)
        add_residuals(k, x + i * c, c);
    for (size_t j = 0; j < c; j++) {
        const double left = (double)k->block_third[j] / (double)rows;

        join(&k->first[j], &k->second[j], (double)k->block_first[j] + left,
             (double)k->block_second[j] - (double)rows * left * left, share, (double)before);
    }
}

INLINE size_t block_end(size_t row, size_t end)
{
    return end - row < BLOCK_ROWS ? end : row + BLOCK_ROWS;
}

VECTORISED
static void stats_chunks(void *arg, size_t begin, size_t end)
{
    const struct cpu_bn_stats *a = arg;

    for (size_t i = begin; i < end; i++) {
        const struct chunk k = chunk_at(a->scratch, a->m, a->c, i);

        memset(k.first, 0, 2 * a->c * sizeof(double));
        for (size_t row = k.begin; row < k.end; row += BLOCK_ROWS)
            stats_block(&k, a->x + row * a->c, a->c, block_end(row, k.end) - row, row - k.begin);
    }
}

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

INLINE void grad_row(const struct cpu_bn_grad_reduce *a, const struct chunk *k, size_t row)
{
    const float *restrict x = a->x + row * a->c, *restrict dy = a->dy + row * a->c;
    const float *restrict mean = a->mean;
    float *restrict dgamma = k->block_first, *restrict dbeta = k->block_second;

    for (size_t j = 0; j < a->c; j++) {
        dgamma[j] += dy[j] * (x[j] - mean[j]);
        dbeta[j] += dy[j];
    }
}

VECTORISED
static void grad_chunks(void *arg, size_t begin, size_t end)
{
    const struct cpu_bn_grad_reduce *a = arg;

    for (size_t i = begin; i < end; i++) {
        const struct chunk k = chunk_at(a->scratch, a->m, a->c, i);

        memset(k.first, 0, 2 * a->c * (sizeof(double) + sizeof(float)));
        for (size_t row = k.begin; row < k.end; row += BLOCK_ROWS) {
            for (size_t r = row; r < block_end(row, k.end); r++)
                grad_row(a, &k, r);
            to_chunk(&k, a->c);
        }
    }
}

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

/* One pass, since y may be the residual's memory. */
INLINE void apply_row(const struct cpu_bn_apply *a, size_t row)
{
    const float *restrict mean = a->mean, *restrict invstd = a->invstd;
    const float *restrict gamma = a->gamma, *restrict beta = a->beta;
    const float *const x = a->x + row * a->c;
    const float *const residual = a->residual ? a->residual + row * a->c : NULL;
    float *const y = a->y + row * a->c;

    if (residual) {
#pragma GCC ivdep
        for (size_t j = 0; j < a->c; j++)
            y[j] = (x[j] - mean[j]) * (gamma[j] * invstd[j]) + beta[j] + residual[j];
    } else {
#pragma GCC ivdep
        for (size_t j = 0; j < a->c; j++)
            y[j] = (x[j] - mean[j]) * (gamma[j] * invstd[j]) + beta[j];
    }
    for (size_t j = 0; a->relu && j < a->c; j++)
        y[j] = y[j] < 0 ? 0 : y[j];
}

VECTORISED
static void apply_rows(void *arg, size_t begin, size_t end)
{
    for (size_t row = begin; row < end; row++)
        apply_row(arg, row);
}

void cpu_bn_apply(int threads, const struct cpu_bn_apply *a)
{
    cpu_parallel((struct cpu_split){threads, a->m, row_grain(a->c)}, apply_rows, (void *)a);
}

VECTORISED
static void grad_rows(void *arg, size_t begin, size_t end)
{
    const struct cpu_bn_grad_apply *a = arg;
    const float *restrict mean = a->mean, *restrict invstd = a->invstd, *restrict gamma = a->gamma;
    const float *restrict dgamma = a->dgamma, *restrict dbeta = a->dbeta;
    const float per_row = a->frozen ? 0 : 1.0F / (float)a->m;

    for (size_t i = begin; i < end; i++) {
        const float *x = a->x + i * a->c, *dy = a->dy + i * a->c;
        float *dx = a->dx + i * a->c;

#pragma GCC ivdep
        for (size_t j = 0; j < a->c; j++)
            dx[j] = gamma[j] * invstd[j] *
                    (dy[j] - per_row * (dbeta[j] + (x[j] - mean[j]) * invstd[j] * dgamma[j]));
    }
}

void cpu_bn_grad_apply(int threads, const struct cpu_bn_grad_apply *a)
{
    cpu_parallel((struct cpu_split){threads, a->m, row_grain(a->c)}, grad_rows, (void *)a);
}
