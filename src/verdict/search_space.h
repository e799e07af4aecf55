/* What a search may set: a few whole numbers, each between its bounds. A setting of kind LOG is
 * walked by doubling and halving (threads, prefetch depth), one of kind LINEAR by quarters of its
 * range (a share in per cent). Values. */
#ifndef STAVE_VERDICT_SEARCH_SPACE_H
#define STAVE_VERDICT_SEARCH_SPACE_H

#include "base/str.h"
#include "verdict/surface.h"

enum { SEARCH_DIMS = SURFACE_DIMS, SEARCH_LEVELS = 64 };
enum search_scale { SEARCH_LOG, SEARCH_LINEAR };

struct search_dim {
    const char *name; /* borrowed, a literal */
    int min, max;     /* LOG: min >= 1 */
    enum search_scale scale;
    double cost; /* of one unit, >= 0: what is cheaper wins among equals */
    int memory;  /* nonzero: more of it needs more memory, so above what did not fit nothing fits */
};

struct search_space {
    struct search_dim dim[SEARCH_DIMS];
    int n_dims;
};

struct search_point {
    int v[SEARCH_DIMS];
};

int search_space_check(const struct search_space *s); /* E_USAGE */
int search_point_inside(const struct search_space *s, struct search_point p);
int search_point_same(const struct search_space *s, struct search_point a, struct search_point b);
double search_point_cost(const struct search_space *s, struct search_point p);
/* Whether p needs at least the memory of q, with all else equal. */
int search_point_above(const struct search_space *s, struct search_point p, struct search_point q);
/* p with dimension d moved by n doublings or quarters (n < 0: down), held at the bounds. */
struct search_point search_point_step(const struct search_space *s, struct search_point p, int d,
                                      int n);
/* Coordinates in which a doubling or a quarter has the length 1. */
void search_point_place(const struct search_space *s, struct search_point p, double *at);
/* Values of dimension d worth asking about, ascending: four to a doubling or ten to a range, and
 * the neighbours of `near`. Returns how many, at most SEARCH_LEVELS. */
int search_levels(const struct search_dim *d, int near, int *level);
/* "threads 4, prefetch 2" */
void search_point_add_text(const struct search_space *s, struct search_point p, struct str *out);

#endif
