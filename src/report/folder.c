#include "report/folder.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void folder_note(struct folder *f, const char *fmt, ...)
{
    struct str text = STR_INIT;
    va_list args;

    va_start(args, fmt);
    str_vprintf(&text, fmt, args);
    va_end(args);
    file_names_add(&f->notes, str_detach(&text));
}

static int is_there(const struct folder *f, const char *name)
{
    char *const path = file_join(f->dir, name);
    const int there = file_exists(path);

    free(path);
    return there;
}

/* NULL when there is no such file, or no whole object in it, which is noted. */
static cJSON *read_doc(struct folder *f, const char *name)
{
    char *const path = file_join(f->dir, name);
    cJSON *doc = NULL;

    if (file_exists(path) && json_read_object(path, &doc) < 0)
        folder_note(f, "%s can not be read: it is cut or damaged.", name);
    free(path);
    return doc;
}

/* ---- stages.csv ---- */

/* stage,samples,busy_ns,... as text: its first column is a name. */
static void read_stage(struct folder *f, char *line)
{
    struct stage *const s = &f->stages[f->n_stages];
    char *save = NULL, *const name = strtok_r(line, ",", &save);
    char *const samples = strtok_r(NULL, ",", &save), *const busy = strtok_r(NULL, ",", &save);

    if (!samples || !busy || strlen(name) >= sizeof(s->name))
        return;
    *s = (struct stage){.samples = strtod(samples, NULL), .busy_ns = strtod(busy, NULL)};
    memcpy(s->name, name, strlen(name) + 1);
    if (s->samples > 0 && s->busy_ns > 0 && isfinite(s->samples) && isfinite(s->busy_ns))
        f->n_stages++;
}

static void read_stages(struct folder *f)
{
    char *const path = file_join(f->dir, "stages.csv"), *text, *save = NULL;
    size_t n;

    if (file_exists(path) && file_read(path, 1 << 20, &text, &n) == 0) {
        strtok_r(text, "\r\n", &save);
        for (char *line; f->n_stages < FOLDER_STAGES && (line = strtok_r(NULL, "\r\n", &save));)
            read_stage(f, line);
        free(text);
    }
    free(path);
}

/* ---- samples.csv, ingest.csv ---- */

/* The wall clock puts what several starts of a run wrote on one line. */
static void note_times(struct folder *f, const struct samples *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        if (isnan(f->start_ms))
            f->start_ms = s->time_ms[i];
        if (!(f->last_ms >= s->time_ms[i]))
            f->last_ms = s->time_ms[i];
    }
}

static void read_csv(struct folder *f, const char *name, struct samples *s, struct table *t)
{
    char *const path = file_join(f->dir, name);

    if (file_exists(path)) {
        if (samples_read(path, NULL, s) < 0)
            folder_note(f, "%s can not be read: %s.", name, err_reason());
        if (s->n_left_out)
            folder_note(f, "%s: %zu %s cut or damaged and left out.", name, s->n_left_out,
                        s->n_left_out == 1 ? "line is" : "lines are");
        note_times(f, s);
        table_take(t, s, f->start_ms);
    }
    free(path);
}

/* From the first to the last second in which fio wrote. */
static void add_ingest_span(struct folder *f)
{
    const double *const at = table_find(&f->ingest, "seconds");

    if (!at || f->ingest.n_rows == 0)
        return;
    f->spans = xrealloc(f->spans, (f->n_spans + 1) * sizeof(f->spans[0]));
    f->spans[f->n_spans++] = (struct span){
        .kind = SPAN_INGEST, .from = at[0] > 1 ? at[0] - 1 : 0, .to = at[f->ingest.n_rows - 1]};
}

/* ---- the whole ---- */

static void note_what_is_missing(struct folder *f)
{
    static const struct {
        const char *file, *without;
    } files[] = {
        {"run.json", "the machine and the options are not known"},
        {"result.json", "what the run came to is told from its events"},
        {"events.jsonl", "there are no curves"},
        {"samples.csv", "the machine was not measured meanwhile"},
    };

    const char *const status = doc_text(f->result, "status");

    if (!f->run && (f->profile || (status && strcmp(status, "ingest done") == 0)))
        return;
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (!is_there(f, files[i].file))
            folder_note(f, "%s is not there: %s.", files[i].file, files[i].without);
}

/* The last parts of a path, so many or all that there are. */
static char *last_parts(const char *path, size_t parts)
{
    size_t n = strlen(path), from;

    while (n > 1 && path[n - 1] == '/')
        n--;
    for (from = n; from > 0 && (path[from - 1] != '/' || --parts > 0);)
        from--;
    return xasprintf("%.*s", (int)(n - from), path + from);
}

/* As whoever gave it calls it; "." and ".." have a name of their own. */
static char *name_of(const char *dir, size_t parts)
{
    char *const given = last_parts(dir, parts);
    const int is_name = parts == 1 && *given && strcmp(given, ".") != 0 && strcmp(given, "..") != 0;
    char *const whole = is_name ? NULL : realpath(dir, NULL);
    char *const name = last_parts(whole ? whole : dir, parts);

    free(given);
    free(whole);
    return name;
}

static int is_shared(const struct folder *all, size_t n, size_t at, size_t parts)
{
    char *const own = name_of(all[at].dir, parts);
    int shared = 0;

    for (size_t i = 0; i < n && !shared; i++) {
        char *const other = name_of(all[i].dir, parts);

        shared = i != at && strcmp(own, other) == 0;
        free(other);
    }
    free(own);
    return shared;
}

void folder_tell_apart(struct folder *all, size_t n)
{
    enum { MOST_PARTS = 32 }; /* the same folder twice is not told apart */

    for (size_t i = 0; i < n; i++) {
        size_t parts = 1;

        while (parts < MOST_PARTS && is_shared(all, n, i, parts))
            parts++;
        free(all[i].name);
        all[i].name = name_of(all[i].dir, parts);
    }
}

static void read_all(struct folder *f)
{
    f->run = read_doc(f, "run.json");
    f->result = read_doc(f, "result.json");
    f->profile = read_doc(f, "profile.json");
    read_stages(f);
    folder_read_events(f);
    read_csv(f, "samples.csv", &f->measured, &f->samples);
    read_csv(f, "ingest.csv", &f->ingested, &f->ingest);
    add_ingest_span(f);
    note_what_is_missing(f);
    if (cJSON_IsTrue(doc_get(f->result, "resumed")) && f->measured.n_rows)
        folder_note(f, "The run was resumed: samples.csv covers its last start only.");
}

int folder_read(struct folder *f, const char *dir)
{
    *f = (struct folder){.dir = xstrdup(dir), .start_ms = NAN, .last_ms = NAN};
    f->name = name_of(dir, 1);
    if (!is_there(f, "run.json") && !is_there(f, "events.jsonl") && !is_there(f, "result.json") &&
        !is_there(f, "profile.json")) {
        folder_release(f);
        return err(E_IO,
                   "%s: no run is here; a run's folder holds run.json, events.jsonl and "
                   "result.json",
                   dir);
    }
    read_all(f);
    return 0;
}

void folder_release(struct folder *f)
{
    cJSON_Delete(f->run);
    cJSON_Delete(f->result);
    cJSON_Delete(f->profile);
    table_release(&f->steps);
    table_release(&f->evaluations);
    table_release(&f->samples);
    table_release(&f->ingest);
    samples_release(&f->measured);
    samples_release(&f->ingested);
    file_names_release(&f->bad_samples);
    file_names_release(&f->notes);
    file_names_release(&f->warnings);
    free(f->spans);
    free(f->dir);
    free(f->name);
    *f = (struct folder){0};
}
