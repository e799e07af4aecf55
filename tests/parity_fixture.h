/* What PyTorch computed, for comparison: the text files tests/golden/resnet50.txt and ops.txt, and
 * the weights, images and labels they start from. tests/golden/parity.py and ops.py say what each
 * section means; the format stands at the top of each file. Arrays are in Stave's order (NHWC,
 * OHWI). A fixture is immutable after loading, so any thread may read it. */
#ifndef STAVE_TESTS_PARITY_FIXTURE_H
#define STAVE_TESTS_PARITY_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

enum { PARITY_BATCH = 8, PARITY_SIZE = 64, PARITY_CLASSES = 1000, PARITY_STEPS = 5 };

/* Stands for an array of n elements from a float64 run. Owned by the fixture. */
struct parity_summary {
    const char *section, *name;
    size_t n;
    double norm, projection;
    double err32, est32; /* float32 PyTorch's error: true, and as parity_error would estimate it */
    size_t count;
    const double *entry;
};

struct parity;

/* E_IO, or E_DATA naming the line. The caller frees *p. */
int parity_load(const char *path, struct parity **p);
void parity_free(struct parity *p);

/* NULL when the fixture has no such summary. */
const struct parity_summary *parity_find(const struct parity *p, const char *section,
                                         const char *name);
/* The summaries of a section in the file's order: the first after NULL, NULL after the last. */
const struct parity_summary *parity_next(const struct parity *p, const char *section,
                                         const struct parity_summary *previous);
/* What a test asks for by a wrong name is its own mistake: BUG(). */
double parity_value(const struct parity *p, const char *section, const char *name);
uint64_t parity_u64(const struct parity *p, const char *section, const char *name);
const double *parity_array(const struct parity *p, const char *section, const char *name,
                           size_t *n);

/* An estimate of |x - want| / |want| from the summary: the largest of the relative error of the
 * norm, the error of the projection, and the error of the entries scaled up to all n. INFINITY when
 * n differs or x holds a NaN. The projection and the entries are samples: for a spread-out error of
 * relative size e the estimate is within 0.7 e and 3 e nearly always, a few wrong elements among
 * thousands can hide from the entries but not from the projection. */
double parity_error(const struct parity_summary *want, const float *x, size_t n);

/* Element i of the input array NAME of case CASE in ops.txt, to be called with "CASE.NAME". */
float parity_input(const char *name, double scale, double shift, size_t i);

/* The fixture's start values. name: torchvision's; fan_in: KH * KW * I, for convolutions only. */
void parity_weight(const char *name, size_t fan_in, float *dst, size_t n);
void parity_image(int step, float *dst); /* BATCH * SIZE * SIZE * 3 */
void parity_labels(int step, int32_t *dst);

#endif
