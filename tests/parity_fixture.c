#include "parity_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/random.h"

enum { FIXTURE_BYTES_MAX = 16 << 20, FIXTURE_SEED = 7 };

enum record_kind { RECORD_U64, RECORD_VALUE, RECORD_ARRAY, RECORD_SUMMARY };

struct record {
    enum record_kind kind;
    uint64_t u64;
    struct parity_summary s; /* also holds section and name of the other kinds, and an array */
    struct record *next;
};

struct parity {
    char *text; /* section and name point into it */
    struct arena arena;
    struct record *first;
};

/* The next field of a line, ended in place; NULL at the end of the line. */
static char *field(char **at)
{
    char *start;

    do
        start = strsep(at, " ");
    while (start && !*start);
    return start;
}

static int field_number(char **at, double *x)
{
    char *end, *word = field(at);

    if (!word)
        return err(E_DATA, "a number is missing");
    *x = strtod(word, &end);
    return *end ? err(E_DATA, "\"%s\" is not a number", word) : 0;
}

static int field_u64(char **at, uint64_t *x)
{
    char *end, *word = field(at);

    if (!word || *word < '0' || *word > '9')
        return err(E_DATA, "a count is missing");
    *x = strtoull(word, &end, 10);
    return *end ? err(E_DATA, "\"%s\" is not a count", word) : 0;
}

static int field_entries(struct arena *a, char **at, struct parity_summary *s)
{
    uint64_t count;
    double *entry;

    TRY(field_u64(at, &count));
    if (count > FIXTURE_BYTES_MAX)
        return err(E_DATA, "%llu numbers do not fit in this file", (unsigned long long)count);
    s->count = (size_t)count;
    s->entry = entry = arena_alloc(a, s->count * sizeof(*entry));
    for (size_t i = 0; i < s->count; i++)
        TRY(field_number(at, &entry[i]));
    return 0;
}

static int record_summary(struct arena *a, char **at, struct parity_summary *s)
{
    uint64_t n;

    TRY(field_u64(at, &n));
    s->n = (size_t)n;
    TRY(field_number(at, &s->norm));
    TRY(field_number(at, &s->projection));
    TRY(field_number(at, &s->err32));
    TRY(field_number(at, &s->est32));
    return field_entries(a, at, s);
}

static int record_value(struct arena *a, char **at, struct parity_summary *s)
{
    double *x = arena_alloc(a, sizeof(*x));

    s->count = 1;
    s->entry = x;
    return field_number(at, x);
}

static int record_parse(struct arena *a, char *line, struct record *r)
{
    static const char *const kinds[] = {"u64", "value", "array", "summary"};
    const char *kind = field(&line);
    size_t k = 0;

    while (k < COUNT_OF(kinds) && strcmp(kind, kinds[k]) != 0)
        k++;
    if (k == COUNT_OF(kinds))
        return err(E_DATA, "\"%s\" is not a kind of record", kind);
    r->kind = (enum record_kind)k;
    r->s.section = field(&line);
    r->s.name = field(&line);
    if (!r->s.name)
        return err(E_DATA, "section or name is missing");
    if (r->kind == RECORD_U64)
        TRY(field_u64(&line, &r->u64));
    else if (r->kind == RECORD_VALUE)
        TRY(record_value(a, &line, &r->s));
    else if (r->kind == RECORD_ARRAY)
        TRY(field_entries(a, &line, &r->s));
    else
        TRY(record_summary(a, &line, &r->s));
    return field(&line) ? err(E_DATA, "numbers are left over") : 0;
}

static int parse(struct parity *p, const char *path)
{
    struct record **tail = &p->first;
    char *line, *rest = p->text;

    for (int number = 1; (line = strsep(&rest, "\n")); number++) {
        if (!line[strspn(line, " ")] || *line == '#')
            continue;
        struct record *r = arena_alloc(&p->arena, sizeof(*r));
        const int code = record_parse(&p->arena, line, r);
        if (code < 0)
            return err_prefix(code, "%s, line %d: ", path, number);
        *tail = r;
        tail = &r->next;
    }
    return 0;
}

int parity_load(const char *path, struct parity **p)
{
    struct parity *const made = xcalloc(1, sizeof(*made));
    size_t n;
    int code;

    arena_init(&made->arena);
    code = file_read(path, FIXTURE_BYTES_MAX, &made->text, &n);
    if (code == 0)
        code = parse(made, path);
    if (code < 0) {
        parity_free(made);
        return code;
    }
    *p = made;
    return 0;
}

void parity_free(struct parity *p)
{
    if (!p)
        return;
    arena_release(&p->arena);
    free(p->text);
    free(p);
}

static const struct record *find(const struct parity *p, enum record_kind kind, const char *section,
                                 const char *name)
{
    for (const struct record *r = p->first; r; r = r->next)
        if (r->kind == kind && strcmp(r->s.name, name) == 0 && strcmp(r->s.section, section) == 0)
            return r;
    return NULL;
}

static const struct record *must_find(const struct parity *p, enum record_kind kind,
                                      const char *section, const char *name)
{
    const struct record *const r = find(p, kind, section, name);

    if (!r)
        BUG("the fixture has no %s %s", section, name);
    return r;
}

const struct parity_summary *parity_find(const struct parity *p, const char *section,
                                         const char *name)
{
    const struct record *const r = find(p, RECORD_SUMMARY, section, name);

    return r ? &r->s : NULL;
}

const struct parity_summary *parity_next(const struct parity *p, const char *section,
                                         const struct parity_summary *previous)
{
    const struct record *r = p->first;

    if (previous) {
        while (&r->s != previous)
            r = r->next;
        r = r->next;
    }
    while (r && (r->kind != RECORD_SUMMARY || strcmp(r->s.section, section) != 0))
        r = r->next;
    return r ? &r->s : NULL;
}

double parity_value(const struct parity *p, const char *section, const char *name)
{
    return must_find(p, RECORD_VALUE, section, name)->s.entry[0];
}

uint64_t parity_u64(const struct parity *p, const char *section, const char *name)
{
    return must_find(p, RECORD_U64, section, name)->u64;
}

const double *parity_array(const struct parity *p, const char *section, const char *name, size_t *n)
{
    const struct record *const r = must_find(p, RECORD_ARRAY, section, name);

    *n = r->s.count;
    return r->s.entry;
}

static struct random_key key_of(const char *name, const char *suffix)
{
    char both[128];
    const int n = snprintf(both, sizeof(both), "%s%s", name, suffix);

    ASSERT(n >= 0 && (size_t)n < sizeof(both));
    return (struct random_key){FIXTURE_SEED, RANDOM_TEST, random_name(both)};
}

/* Root of the summed squares of the entries' errors, scaled up from count samples to n elements. */
/* Arrays that several tests need, kept until the process ends: the five optimisers start from the
 * same 25 million numbers, and drawing them takes longer than the steps. */
struct kept {
    struct kept *next;
    uint64_t key;
    size_t n;
    float x[];
};

/* The array of a key; *fresh says that the caller must fill it. */
static float *kept_array(struct random_key key, size_t n, int *fresh)
{
    static struct kept *all;
    struct kept *k;

    *fresh = 0;
    for (k = all; k; k = k->next)
        if (k->key == key.epoch && k->n == n)
            return k->x;
    *fresh = 1;
    k = xmalloc(sizeof(*k) + n * sizeof(float));
    k->key = key.epoch;
    k->n = n;
    k->next = all;
    all = k;
    return k->x;
}

static const float *projection_of(const struct parity_summary *s)
{
    const struct random_key key = key_of(s->name, "#proj");
    int fresh;
    float *const z = kept_array(key, s->n, &fresh);

    for (size_t i = 0; fresh && i < s->n; i++)
        z[i] = (float)random_normal(key, i);
    return z;
}

static double entries_error(const struct parity_summary *want, const float *x)
{
    const struct random_key key = key_of(want->name, "#idx");
    double sum = 0;

    for (size_t j = 0; j < want->count; j++) {
        const double d = (double)x[random_hash(key, j) % want->n] - want->entry[j];
        sum += d * d;
    }
    return sqrt(sum * (double)want->n / (double)want->count);
}

double parity_error(const struct parity_summary *want, const float *x, size_t n)
{
    const float *const z = projection_of(want);
    double squares = 0, projection = 0, worst;

    if (n != want->n)
        return INFINITY;
    for (size_t i = 0; i < n; i++) {
        squares += (double)x[i] * (double)x[i];
        projection += (double)x[i] * (double)z[i];
    }
    if (!isfinite(squares))
        return INFINITY;
    worst = fmax(fabs(sqrt(squares) - want->norm), fabs(projection - want->projection));
    worst = fmax(worst, entries_error(want, x));
    return worst > 0 ? worst / want->norm : 0; /* a norm of 0 that x misses: infinite */
}

float parity_input(const char *name, double scale, double shift, size_t i)
{
    return (float)(shift + scale * random_normal(key_of(name, ""), i));
}

static int ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static double norm_shift(const char *name)
{
    static const struct {
        const char *part;
        double shift;
    } shifts[] = {{".bn1.", 3.0}, {".bn2.", 2.5}, {".downsample.", 3.5}};

    if (strcmp(name, "bn1.bias") == 0)
        return -0.5;
    for (size_t i = 0; i < COUNT_OF(shifts); i++)
        if (strstr(name, shifts[i].part))
            return shifts[i].shift;
    return 0;
}

/* value = shift + scale * z */
static void affine_of(const char *name, size_t fan_in, double *scale, double *shift)
{
    const int bn3 = strstr(name, ".bn3.") != NULL, down = strstr(name, ".downsample.") != NULL;
    const double t = strncmp(name, "layer4", 6) == 0 && (bn3 || down) ? 0.03 : 1.0;

    *shift = 0;
    if (strstr(name, "conv") || strstr(name, "downsample.0"))
        *scale = 0.15 * sqrt(2.0 / (double)fan_in);
    else if (strcmp(name, "fc.weight") == 0)
        *scale = 0.02;
    else if (strcmp(name, "fc.bias") == 0 || ends_with(name, "running_mean"))
        *scale = 0.1;
    else if (ends_with(name, "bias")) {
        *scale = 0.1 * t;
        *shift = t * norm_shift(name);
    } else {
        *shift = bn3 ? t * 0.3 : t;
        *scale = 0.1 * *shift;
    }
}

static void draw_weight(const char *name, size_t fan_in, float *dst, size_t n)
{
    const struct random_key key = key_of(name, "");
    double scale, shift;

    affine_of(name, fan_in, &scale, &shift);
    if (ends_with(name, "running_var"))
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)(1 + 0.1 * random_uniform(key, i));
    else
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)(shift + scale * random_normal(key, i));
}

void parity_weight(const char *name, size_t fan_in, float *dst, size_t n)
{
    int fresh;
    float *const x = kept_array(key_of(name, ""), n, &fresh);

    if (fresh)
        draw_weight(name, fan_in, x, n);
    memcpy(dst, x, n * sizeof(*x));
}

static struct random_key batch_key(const char *what, int step)
{
    char number[16];

    ASSERT(step >= 0 && step < PARITY_STEPS);
    snprintf(number, sizeof(number), "%d", step);
    return key_of(what, number);
}

void parity_image(int step, float *dst)
{
    const struct random_key key = batch_key("image", step);

    for (size_t i = 0; i < (size_t)PARITY_BATCH * PARITY_SIZE * PARITY_SIZE * 3; i++)
        dst[i] = (float)random_normal(key, i);
}

void parity_labels(int step, int32_t *dst)
{
    const struct random_key key = batch_key("label", step);

    for (size_t i = 0; i < PARITY_BATCH; i++)
        dst[i] = (int32_t)(random_hash(key, i) % PARITY_CLASSES);
}
