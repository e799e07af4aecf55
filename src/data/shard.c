#include "data/shard.h"

#include "base/err.h"

static uint64_t ranks_of(const struct shard *s)
{
    ASSERT(s->batch_size > 0 && s->rank >= 0 && s->rank <= s->n_ranks - (s->n_ranks > 0));
    return s->n_ranks > 0 ? (uint64_t)s->n_ranks : 1;
}

uint64_t shard_steps(const struct shard *s)
{
    const uint64_t global = s->batch_size * ranks_of(s);
    const uint64_t whole = s->n_samples / global;
    const int tail = s->n_samples % global != 0;

    return whole + (tail && (s->tail == SHARD_KEEP_TAIL || whole == 0));
}

struct shard_part shard_part(const struct shard *s, uint64_t step)
{
    const uint64_t first = (step * ranks_of(s) + (uint64_t)s->rank) * s->batch_size;
    const uint64_t left = first < s->n_samples ? s->n_samples - first : 0;

    return (struct shard_part){
        .first = left ? first : s->n_samples,
        .n_real = left < s->batch_size ? (size_t)left : s->batch_size,
    };
}
