#include "cli/set_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/run_folder.h"
#include "rules/log.h"
#include "trace/mllog_read.h"

static double number_of(const cJSON *doc, const char *name)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(doc, name);

    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

static void read_document(const cJSON *doc, struct set_result *r)
{
    const cJSON *const status = cJSON_GetObjectItemCaseSensitive(doc, "status");
    const cJSON *const cleared = cJSON_GetObjectItemCaseSensitive(doc, "cache_cleared");

    snprintf(r->status, sizeof(r->status), "%s", cJSON_IsString(status) ? status->valuestring : "");
    r->quality = number_of(doc, "quality");
    r->epochs = number_of(doc, "epochs");
    r->cache_cleared = cJSON_IsBool(cleared) ? cJSON_IsTrue(cleared) : -1;
}

/* The log is what others judge: it must name the seed that was drawn, once. */
struct seeds {
    double first;
    size_t n;
};

static int take_seed(void *context, const struct mllog_record *r)
{
    struct seeds *const s = context;

    if (strcmp(r->key, "seed") == 0 && s->n++ == 0)
        s->first = cJSON_IsNumber(r->value) ? r->value->valuedouble : NAN;
    return 0;
}

static void read_log(const char *folder, uint64_t seed, struct set_result *r)
{
    char *const path = file_join(folder, "mlperf.log");
    struct seeds seeds = {0};
    const struct mllog_visitor also = {.record = take_seed, .context = &seeds};
    struct log log = {0};

    if (log_read(&log, path, &also) < 0) {
        r->code = EXIT_UNTRUSTWORTHY;
        snprintf(r->why, sizeof(r->why), "its log can not be read");
    } else if (seeds.n != 1 || seeds.first != (double)seed) {
        r->code = EXIT_UNTRUSTWORTHY;
        snprintf(r->why, sizeof(r->why), "its log does not name its seed, once");
    }
    r->minutes = log.n_records ? log_minutes(&log) : NAN;
    log_release(&log);
    free(path);
}

static void say_why(struct set_result *r, const cJSON *doc)
{
    const int resumed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "resumed"));
    const char *const why = r->code == EXIT_REACHED ? ""
                            : r->code == EXIT_NOT_REACHED
                                ? (strcmp(r->status, "failed") == 0 ? "loss or gradient not finite"
                                                                    : "target not reached")
                            : resumed ? "resumed, which is no timed result"
                                      : "its log does not stand";

    if (!r->why[0])
        snprintf(r->why, sizeof(r->why), "%s", why);
}

static int has_ended(const struct set_result *r)
{
    return r->status[0] && strcmp(r->status, "running") != 0 &&
           strcmp(r->status, "interrupted") != 0;
}

static int counts(int code)
{
    return code == EXIT_REACHED || code == EXIT_NOT_REACHED || code == EXIT_UNTRUSTWORTHY;
}

void set_result_look(struct run_set *s, size_t at, int code)
{
    struct set_run *const run = &s->runs[at];
    struct set_result *const r = &run->result;
    char *const folder = run_set_folder(s, at);
    cJSON *doc = NULL;

    *r = (struct set_result){.quality = NAN, .epochs = NAN, .minutes = NAN, .cache_cleared = -1};
    if (run_folder_read_json(folder, "result.json", &doc) == 0)
        read_document(doc, r);
    if (code < 0 && number_of(doc, "exit_code") >= 0)
        code = (int)number_of(doc, "exit_code");
    if (code < 0 || strcmp(r->status, "interrupted") == 0) {
        run->state = SET_INTERRUPTED;
    } else if (!counts(code) || !has_ended(r)) {
        run->state = SET_FAILED;
    } else {
        run->state = SET_FINISHED;
        r->code = code;
        read_log(folder, run->seed, r);
        say_why(r, doc);
    }
    cJSON_Delete(doc);
    free(folder);
}

struct set_count set_count(const struct run_set *s)
{
    struct set_count c = {0};

    for (size_t i = 0; i < s->n; i++)
        if (s->runs[i].state == SET_FINISHED) {
            c.finished++;
            c.missed += s->runs[i].result.code == EXIT_NOT_REACHED;
            c.untrusted += s->runs[i].result.code == EXIT_UNTRUSTWORTHY;
        }
    return c;
}

int set_code(const struct set_count *c)
{
    return c->untrusted ? EXIT_UNTRUSTWORTHY : c->missed ? EXIT_NOT_REACHED : EXIT_REACHED;
}

int set_is_sure(const struct run_set *s, int n_drop)
{
    const struct score_estimate e = set_estimate(s, n_drop);

    return 100 * score_uncertainty(&e) < s->until_sure; /* not a number: too few runs */
}

struct score_estimate set_estimate(const struct run_set *s, int n_drop)
{
    double *const minutes = xcalloc(s->n, sizeof(*minutes));
    struct score_estimate e;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct set_result *const r = &s->runs[i].result;
        if (s->runs[i].state == SET_FINISHED)
            minutes[n++] = r->code == EXIT_REACHED ? r->minutes : INFINITY;
    }
    e = score_estimate(minutes, n, n_drop);
    free(minutes);
    return e;
}
