#include "report/barrel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/text.h"

static double known(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

const char *barrel_unit(const struct folder *f)
{
    const char *unit = doc_text(f->run, "unit");

    if (!unit)
        unit = doc_text(f->profile, "unit");
    return unit ? unit : "samples";
}

/* ---- measured alone ---- */

static double phase_rate(const cJSON *phases, const char *name)
{
    return known(doc_number(doc_get(phases, name), "samples_per_s"));
}

static enum stave stave_named(const char *name)
{
    for (enum stave s = 0; s < STAVE_CORES; s++)
        if (name && strcmp(name, stave_name(s)) == 0)
            return s;
    return STAVE_CORES;
}

static void take_profile(struct barrel *b, const struct folder *f)
{
    const cJSON *const phases = doc_get(f->profile, "phases");
    const cJSON *const verdict = doc_get(f->profile, "verdict");
    const char *const words = doc_text(verdict, "words");
    double copy;

    b->source = BARREL_MEASURED;
    b->alone[STAVE_READ] = phase_rate(phases, "read");
    b->alone[STAVE_DECODE] = phase_rate(phases, "decode");
    b->alone[STAVE_AUGMENT] = phase_rate(phases, "augment");
    b->alone[STAVE_COPY] = copy = phase_rate(phases, "copy");
    b->loader = phase_rate(phases, "loader");
    b->device = phase_rate(phases, "model");
    b->alone[STAVE_COMPUTE] =
        copy > b->device && b->device > 0 ? 1 / (1 / b->device - 1 / copy) : b->device;
    b->level = known(doc_number(verdict, "measured_samples_per_s"));
    if (b->level == 0)
        b->level = known(doc_number(verdict, "predicted_samples_per_s"));
    b->shortest = stave_named(doc_text(verdict, "shortest"));
    b->balanced = cJSON_IsTrue(doc_get(verdict, "balanced"));
    str_add(&b->words, words ? words : "");
}

/* ---- estimated ---- */

/* Thread seconds a sample spends in a stage; 0: not known. */
static double seconds_in(const struct folder *f, const char *stage)
{
    for (size_t i = 0; i < f->n_stages; i++)
        if (strcmp(f->stages[i].name, stage) == 0)
            return f->stages[i].busy_ns / 1e9 / f->stages[i].samples;
    return 0;
}

static int threads_of(const struct folder *f)
{
    const double n = doc_number(doc_get(doc_get(f->run, "options"), "data"), "num-threads");

    return n >= 1 && n < 65536 ? (int)n : 1;
}

static struct staves staves_of(const struct folder *f, const char *unit)
{
    const double samples = known(doc_number(f->result, "samples_trained"));
    const double train_s = known(doc_number(f->result, "train_ns")) / 1e9;
    const double wait_s = known(doc_number(f->result, "data_wait_ns")) / 1e9;
    struct staves s = {.unit = unit, .threads = threads_of(f)};
    double loader_s = 0;

    for (enum stave i = 0; i < N_STAGE_STAVES; i++) {
        const double each = seconds_in(f, stave_name(i));

        if (i < N_LOADER_STAVES)
            loader_s += s.busy_s[i] = each;
        if (each > 0)
            s.alone[i] = (i < N_LOADER_STAVES ? s.threads : 1) / each;
    }
    s.loader = loader_s > 0 ? s.threads / loader_s : 0;
    s.device = train_s > wait_s ? samples / (train_s - wait_s) : 0;
    s.run = train_s > 0 ? samples / train_s : 0;
    return s;
}

static void take_estimate(struct barrel *b, const struct folder *f)
{
    struct staves s = staves_of(f, b->unit);
    struct verdict v;

    if (!(s.loader > 0 && s.device > 0 && s.run > 0))
        return;
    v = verdict_find(&s);
    b->source = BARREL_ESTIMATED;
    memcpy(b->alone, s.alone, sizeof(b->alone));
    if (b->alone[STAVE_COMPUTE] == 0)
        b->alone[STAVE_COMPUTE] = s.device; /* a run whose model counts no stages */
    b->loader = s.loader;
    b->device = s.device;
    b->level = s.run;
    b->shortest = v.shortest;
    b->balanced = v.balanced;
    s.run = 0; /* nothing was predicted that could be compared with it */
    verdict_add_words(&s, &v, &b->words);
}

void barrel_find(const struct folder *f, struct barrel *b)
{
    *b = (struct barrel){.unit = barrel_unit(f), .shortest = STAVE_CORES};
    if (doc_get(f->profile, "phases"))
        take_profile(b, f);
    else
        take_estimate(b, f);
}

void barrel_release(struct barrel *b)
{
    str_release(&b->words);
}

/* ---- HTML ---- */

static void add_row(struct str *out, const char *name, double rate)
{
    str_printf(out, "<tr><th scope=\"row\">%s</th><td class=\"n\">", name);
    text_add_number(out, rate);
    str_add(out, "</td><td></td></tr>\n");
}

/* What is odd about a stave: that it limits the others, that it was not measured itself. */
static void add_stave(const struct barrel *b, enum stave s, struct str *out)
{
    const char *const place = s != b->shortest ? "" : b->balanced ? "lowest" : "shortest";
    const int derived = b->source == BARREL_MEASURED && s == STAVE_COMPUTE;

    str_printf(out, "<tr%s><th scope=\"row\">%s</th><td class=\"n\">",
               *place ? " class=\"shortest\"" : "", stave_name(s));
    text_add_number(out, b->alone[s]);
    str_printf(out, "</td><td>%s%s%s</td></tr>\n", place, *place && derived ? "; " : "",
               derived ? "derived: model less copy" : "");
}

static void add_table(const struct barrel *b, struct str *out)
{
    str_add(out, "<table class=\"staves\"><thead><tr><th scope=\"col\">Stave</th><th scope=\"col\" "
                 "class=\"n\">");
    text_add(out, b->unit);
    str_add(out, " per second</th><th scope=\"col\"></th></tr></thead><tbody>\n");
    for (enum stave s = 0; s < N_STAGE_STAVES; s++)
        if (b->alone[s] > 0)
            add_stave(b, s, out);
    str_add(out, "</tbody><tbody class=\"levels\">\n");
    if (b->loader > 0)
        add_row(out, "loader: read, decode and augment together", b->loader);
    if (b->device > 0)
        add_row(out, "model: copy and compute together", b->device);
    if (b->level > 0)
        add_row(out, "level reached", b->level);
    str_add(out, "</tbody></table>\n");
}

static void add_words(const struct barrel *b, struct str *out)
{
    const char *line = b->words.s ? b->words.s : "";

    while (*line) {
        const size_t n = strcspn(line, "\n");
        char *const one = xasprintf("%.*s", (int)n, line);

        str_add(out, "<p>");
        text_add(out, one);
        str_add(out, "</p>\n");
        free(one);
        line += n + (line[n] == '\n');
    }
}

void barrel_add(const struct barrel *b, struct str *out)
{
    if (b->source == BARREL_NONE) {
        str_add(out, "<p class=\"quiet\">The capacities of the stages are not known: the run left "
                     "no counters of them.</p>\n");
        return;
    }
    str_add(out, "<div class=\"barrel\"><figure>");
    barrel_draw(b, out);
    str_add(out, "<figcaption>A stave's height is what its stage could do alone, the water is the "
                 "level that all of them held together. Logarithmic scale.</figcaption></figure>\n"
                 "<div>");
    str_add(out, b->source == BARREL_MEASURED
                     ? "<p class=\"source\"><b>Measured:</b> every stage ran alone (stave "
                       "profile).</p>\n"
                     : "<p class=\"source\"><b>Estimated</b> from what the run itself counted: "
                       "threads × samples ÷ busy time of a stage. <code>stave profile</code> "
                       "measures every stage alone.</p>\n");
    add_table(b, out);
    add_words(b, out);
    str_add(out, "</div></div>\n");
}
