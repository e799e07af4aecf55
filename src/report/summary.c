#include "report/summary.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "report/text.h"

static const struct {
    const char *status, *name;
} states[] = {
    [SUMMARY_REACHED] = {"target reached", "target reached"},
    [SUMMARY_STEPS_DONE] = {"steps done", "steps done"},
    [SUMMARY_NOT_REACHED] = {"target not reached", "target not reached"},
    [SUMMARY_INTERRUPTED] = {"interrupted", "interrupted"},
    [SUMMARY_FAILED] = {"failed", "failed"},
    [SUMMARY_INGEST] = {"ingest done", "ingest done"},
    [SUMMARY_CUT] = {"", "did not end"},
    [SUMMARY_PROFILE] = {"", "profile"},
};

const char *summary_state_name(const struct summary *s)
{
    return states[s->state].name;
}

static enum summary_state state_of(const struct folder *f)
{
    const char *const status = doc_text(f->result, "status");

    if (f->profile && !f->run && !f->result)
        return SUMMARY_PROFILE;
    if (!status || !isfinite(doc_number(f->result, "exit_code")))
        return SUMMARY_CUT;
    for (enum summary_state i = 0; i < SUMMARY_CUT; i++)
        if (strcmp(status, states[i].status) == 0)
            return i;
    return SUMMARY_CUT;
}

static double last_of(const struct table *t, const char *name)
{
    const double *const v = table_find(t, name);

    return v && t->n_rows ? v[t->n_rows - 1] : NAN;
}

/* Of a run whose result was never written. */
static void take_events(const struct folder *f, struct summary *s)
{
    if (isnan(s->quality))
        s->quality = last_of(&f->evaluations, "quality");
    if (isnan(s->run_s) || s->state == SUMMARY_CUT)
        s->run_s = (f->last_ms - f->start_ms) / 1e3;
    if (isnan(s->steps) || s->state == SUMMARY_CUT)
        s->steps = fmax(s->steps, last_of(&f->steps, "step"));
    if (isnan(s->samples_per_s))
        s->samples_per_s = last_of(&f->steps, "samples_per_s");
}

/* What the folder tells of it; NULL: nothing. */
static const char *doubt_of(const cJSON *result)
{
    const cJSON *const ingest = doc_get(result, "ingest"), *const ceiling =
                                                               doc_get(result, "ceiling");
    const double failed = doc_number(ingest, "error");

    if (failed < 0 || failed > 0)
        return doc_text(ingest, "words") ? doc_text(ingest, "words") : "the ingest failed";
    if (doc_number(ceiling, "oom_kills") > 0)
        return doc_text(ceiling, "words");
    return cJSON_IsTrue(doc_get(result, "resumed")) ? "a resumed run is no timed result" : NULL;
}

void summary_find(const struct folder *f, struct summary *s)
{
    const cJSON *const r = f->result;
    const char *const metric = doc_text(r, "metric");
    const double target = doc_number(doc_get(doc_get(f->run, "options"), "training"), "target");

    *s = (struct summary){
        .state = state_of(f),
        .quality = doc_number(r, "quality"),
        .target = doc_number(r, "target"),
        .run_s = doc_number(r, "run_ns") / 1e9,
        .samples_per_s = doc_number(r, "samples_per_s"),
        .wait_ratio = doc_number(r, "data_wait_ns") / doc_number(r, "train_ns"),
        .epochs = doc_number(r, "epochs"),
        .steps = doc_number(r, "steps"),
        .exit_code = doc_number(r, "exit_code"),
        .metric = metric && strcmp(metric, "top1") != 0 ? metric : "top-1",
        .is_ratio = !metric || strcmp(metric, "top1") == 0,
        .origin = doc_text(r, "origin"),
        .origin_words = doc_text(r, "origin_words"),
        .doubt = doubt_of(r),
    };
    if (isnan(s->target) && target > 0)
        s->target = target;
    take_events(f, s);
}

void summary_add_quality(const struct summary *s, double quality, struct str *out)
{
    if (s->is_ratio && isfinite(quality))
        str_printf(out, "%.4g\xc2\xa0%%", 100 * quality);
    else
        text_add_number(out, quality);
}

static void add_count(struct str *out, double n, const char *what)
{
    text_add_number(out, n);
    str_printf(out, " %s%s", what, n == 1 ? "" : "s");
}

/* "81.5 % top-1 " or nothing */
static void add_reached(const struct summary *s, struct str *out)
{
    if (!isfinite(s->quality))
        return;
    summary_add_quality(s, s->quality, out);
    str_printf(out, " %s", s->metric);
}

/* "Reached 81.5 % top-1 in 3 min 15 s, which was the target" */
static void add_outcome(const struct summary *s, struct str *out)
{
    switch (s->state) {
    case SUMMARY_REACHED:
        str_add(out, isfinite(s->quality) ? "Reached " : "Reached the target");
        add_reached(s, out);
        break;
    case SUMMARY_STEPS_DONE:
        str_add(out, "Made ");
        add_count(out, s->steps, "step");
        break;
    case SUMMARY_NOT_REACHED:
        str_add(out, isfinite(s->quality) ? "Missed the target with " : "Missed the target");
        add_reached(s, out);
        break;
    case SUMMARY_INTERRUPTED:
        str_add(out, "Was interrupted after ");
        add_count(out, s->steps, "step");
        break;
    case SUMMARY_FAILED:
        str_add(out, "Failed");
        break;
    case SUMMARY_INGEST:
        str_add(out, "Made the ingest alone, without a training beside it,");
        break;
    default:
        str_add(out, "Did not end: it was killed, or is still at work");
        break;
    }
}

static void add_time(const struct summary *s, struct str *out)
{
    if (!isfinite(s->run_s))
        return;
    str_add(out, s->state == SUMMARY_CUT ? "; the last sign of life came after " : " in ");
    text_add_seconds(out, s->run_s);
    if (s->state == SUMMARY_CUT && isfinite(s->quality)) {
        str_add(out, ", at ");
        add_reached(s, out);
    }
}

static void add_doubt(const struct summary *s, struct str *out)
{
    size_t n = s->doubt ? strlen(s->doubt) : 0;

    if (s->exit_code != 4)
        return;
    while (n > 0 && strchr(".\n ", s->doubt[n - 1]))
        n--;
    str_add(out, "; the result does not stand");
    if (n > 0)
        str_printf(out, ": %.*s", (int)n, s->doubt);
}

static void add_stave(const struct barrel *b, struct str *out)
{
    if (b->source == BARREL_NONE)
        return;
    if (out->len)
        str_add(out, "; ");
    if (b->balanced)
        str_add(out, "loader and model are level");
    else
        str_printf(out, "%s is the shortest stave", stave_name(b->shortest));
    if (b->level > 0) {
        str_add(out, " at ");
        text_add_number(out, b->level);
        str_printf(out, "\xc2\xa0%s/s", b->unit);
    }
}

static void add_origin(const struct summary *s, struct str *out)
{
    if (!s->origin || strcmp(s->origin, "unknown") == 0)
        return;
    if (out->len)
        str_add(out, "; ");
    str_add(out, "the data came ");
    if (strcmp(s->origin, "disk") == 0)
        str_add(out, "from disk");
    else if (strcmp(s->origin, "cache") == 0)
        str_add(out, "from the page cache");
    else
        str_add(out, "partly from disk, partly from the page cache");
}

void summary_add_sentence(const struct summary *s, const struct barrel *b, struct str *out)
{
    struct str text = STR_INIT;

    if (s->state != SUMMARY_PROFILE) {
        add_outcome(s, &text);
        add_time(s, &text);
        add_doubt(s, &text);
    }
    add_stave(b, &text);
    add_origin(s, &text);
    str_add(&text, text.len ? "." : "Nothing of a run is here.");
    if (text.s[0] >= 'a' && text.s[0] <= 'z')
        text.s[0] = (char)(text.s[0] - 'a' + 'A');
    str_add_bytes(out, text.s, text.len);
    str_release(&text);
}
