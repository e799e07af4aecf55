#include "plan/poison.h"

#include "base/err.h"
#include "base/hostile.h"

enum { PIECE_BYTES = 4096 };

int poison_block(const struct engine *e, void *p, size_t bytes)
{
    char piece[PIECE_BYTES];

    if (!e->backend->computes)
        return 0;
    hostile_poison(piece, sizeof(piece));
    for (size_t at = 0; at < bytes; at += PIECE_BYTES)
        TRY(e->backend->write(e->device, (char *)p + at, piece,
                              bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES));
    return 0;
}

/* Whether bytes of t hold another value that lives on. */
static int taken_over(const struct plan *p, const struct tensor *t, int i)
{
    const struct memory *const m = &p->memory;
    const size_t first = m->offset[t->id], end = first + tensor_bytes(t);

    for (int k = 0; k < p->graph->n_tensors; k++) {
        const struct tensor *const u = p->graph->tensors[k];

        if (u == t || (u->kind != T_VALUE && u->kind != T_INPUT))
            continue;
        if (m->first[k] >= 0 && m->first[k] <= i && m->last[k] > i && m->offset[k] < end &&
            first < m->offset[k] + tensor_bytes(u))
            return 1;
    }
    return 0;
}

static int poison_value(struct plan *p, const struct tensor *t, void *at, int i)
{
    if (t->kind != T_VALUE || p->memory.last[t->id] != i || taken_over(p, t, i))
        return 0;
    return poison_block(p->engine, at, tensor_bytes(t));
}

int poison_dead(struct plan *p, int i)
{
    const struct step *const s = &p->steps[i];

    TRY(poison_block(p->engine, s->scratch, s->scratch_bytes));
    for (int k = 0; k < s->node->n_in; k++)
        TRY(poison_value(p, s->node->in[k], s->in[k], i));
    for (int k = 0; k < s->node->op->n_out; k++)
        TRY(poison_value(p, s->node->out[k], s->out[k], i));
    return 0;
}
