/* The contract of a backend: a device, memory on it, and a table of kernels, one for each op it can
 * run. A backend sees descriptors, nodes and pointers; never a model, a graph builder or another
 * backend.
 *
 * A kernel is chosen and prepared once, when a plan is made; run() may not allocate, decide or fail
 * for a reason that could have been known before. A kernel may decline a node in accepts() or
 * prepare() with E_UNSUPPORTED and a reason, which the plan reports with op, scope and backend. All
 * calls on one device come from one thread. */
#ifndef STAVE_BACKEND_BACKEND_H
#define STAVE_BACKEND_BACKEND_H

#include "graph/node.h"
#include "ops/op.h"

struct device; /* each backend defines its own */
struct str;

enum { IMPL_BYTES = 64 };

/* One node on one device. The plan owns it and fills in, out and scratch before the first run and
 * again whenever addresses change (another weight set); between two runs they stay the same. */
struct step {
    const struct node *node;
    const struct kernel *kernel;
    void **in;
    void *out[MAX_OUT];
    void *scratch;         /* scratch_bytes of it, shared with other steps */
    size_t scratch_bytes;  /* prepare() may ask */
    void *state;           /* the kernel's own, made by prepare(), freed by release() */
    char impl[IMPL_BYTES]; /* prepare() may say which implementation was chosen */
    const char *why;       /* and why, where there was a choice; static text */
};

struct kernel {
    const char *name;                                   /* of the implementation, for explain */
    int (*accepts)(const struct node *n);               /* NULL: every node of its op, unfused */
    int (*prepare)(struct device *d, struct step *s);   /* NULL: nothing to prepare */
    int (*run)(struct device *d, const struct step *s); /* mandatory */
    void (*release)(struct device *d, struct step *s);  /* NULL: nothing to free */
};

struct device_options {
    int threads; /* processors to use; 0: what base/cpus.h finds */
};

/* What a device reaches at best, measured by loops of its own: a multiply-add is two operations,
 * bytes are those read and those written, over arrays far larger than its caches. 0 where it has
 * nothing of the kind. */
struct ceilings {
    double f32_flops_per_s, bf16_flops_per_s;
    double copy_bytes_per_s, triad_bytes_per_s; /* a = b; a = b + s * c */
};

struct backend {
    const char *name;
    const char *help;
    int computes; /* 0 for null: results mean nothing */
    int (*open)(const struct device_options *o, struct device **out);
    void (*close)(struct device *d);
    void (*describe)(const struct device *d,
                     struct str *out); /* one line: library, version, threads */
    int (*alloc)(struct device *d, size_t bytes, void **out); /* zeroed, 64-byte aligned */
    void (*free)(struct device *d, void *p, size_t bytes);
    int (*write)(struct device *d, void *dst, const void *src, size_t bytes); /* host to device */
    int (*read)(struct device *d, void *dst, const void *src,
                size_t bytes); /* device to host, complete on return */
    int (*sync)(struct device *d);
    /* Whether kernels store activations and gradients in this type on this machine: 0, or
     * E_UNSUPPORTED and why not. float32 always. */
    int (*supports)(const struct device *d, enum dtype t);
    /* Measures for about a second. NULL where results would mean nothing. */
    int (*measure)(struct device *d, struct ceilings *out);
    const struct kernel *const *kernels; /* [N_OPS]; NULL where this backend has none */
};

/* The backends of this build, in the order of backend/list.h; ends with NULL. */
extern const struct backend *const backends[];
const struct backend *backend_find(const char *name); /* NULL when there is none */

#endif
