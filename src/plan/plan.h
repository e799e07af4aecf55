/* A plan: a graph made ready for one device. Flat and immutable: passes done, memory assigned, a
 * kernel chosen and prepared for every node. Running it allocates nothing and decides nothing. The
 * plan borrows graph, bank and workspace, which must outlive it; the graph must not be edited
 * afterwards. One thread. */
#ifndef STAVE_PLAN_PLAN_H
#define STAVE_PLAN_PLAN_H

#include "plan/bank.h"
#include "plan/memory.h"
#include "plan/passes.h"

/* One arena for the activations of several plans that never run at once. It grows to the largest
 * when a plan is made and is allocated when the first of them runs; making a plan after that is a
 * BUG(). */
struct workspace {
    const struct engine *engine;
    size_t bytes;
    void *base;
};
void workspace_init(struct workspace *w, const struct engine *e);
void workspace_release(struct workspace *w);
/* Allocates it, when all plans are made; the first run does so otherwise. */
int workspace_ready(struct workspace *w);

struct plan_options {
    unsigned without;     /* bit PASS_x: leave that pass out */
    enum dtype precision; /* of activations; one that the backend supports */
};

struct plan {
    const struct engine *engine;
    struct graph *graph;
    struct bank *bank;
    struct workspace *workspace;
    struct memory memory;
    struct step *steps;
    int n_steps;
    size_t scratch_bytes;
    int bound_set;    /* the set whose addresses the steps hold, -1 for none */
    int64_t *step_ns; /* when profiling: summed time of each step; else NULL */
    int tells;        /* each step says what it did: DEBUG is 2 or more */
    int64_t runs;
};

/* Passes, kernels, memory. E_UNSUPPORTED names op, scope and backend when there is no kernel; the
 * graph's own error comes out here too. */
int plan_init(struct plan *p, struct graph *g, struct bank *b, struct workspace *w,
              struct plan_options o);
void plan_release(struct plan *p);

/* Writes an input, reads an output, by name and whole: bytes must agree. A name that is not there
 * is a BUG(). */
int plan_write(struct plan *p, const char *input, const void *src, size_t bytes);
int plan_read(struct plan *p, const char *output, void *dst, size_t bytes);
int plan_has_input(const struct plan *p, const char *input);

/* One run on a weight set. */
int plan_run(struct plan *p, int set);
/* The same, stopping at the first step that makes (or reads) a value that is not finite: E_NUMERIC,
 * naming op, scope and tensor. For finding out where a run broke. */
int plan_run_checked(struct plan *p, int set);
void plan_profile(struct plan *p); /* from now on time every step */

struct plan_totals {
    double flops, bytes;
    int forward, backward; /* steps; updates count as backward */
};
struct plan_totals plan_totals(const struct plan *p);

/* The op of a node and what it absorbed: "bn_apply+relu". */
const char *node_label(const struct node *n);

/* The plan as text: one line per step (number, op, scope, shapes, kernel and why, bytes, FLOPs, and
 * time when profiled), then totals and planned memory beside the sum of all tensors. */
void plan_explain(const struct plan *p, struct str *out);
/* The steps as a JSON array. */
void plan_json(const struct plan *p, struct str *out);

#endif
