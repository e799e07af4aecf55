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
static void check_seed(const struct log *log, uint64_t seed, struct set_result *r)
{
    char wanted[32];

    snprintf(wanted, sizeof(wanted), "%llu", (unsigned long long)seed);
    if (log->n_seeds == 1 && log->seeds[0].value && strcmp(log->seeds[0].value, wanted) == 0)
        return;
    r->code = r->code == EXIT_WORLD ? r->code : EXIT_UNTRUSTWORTHY;
    snprintf(r->why, sizeof(r->why), "its log names %zu seeds, the first %s, not %s alone",
             log->n_seeds, log->n_seeds ? log->seeds[0].value : "none", wanted);
}

static void read_log(const char *folder, uint64_t seed, struct set_result *r)
{
    char *const path = file_join(folder, "mlperf.log");
    struct log log = {0};

    r->minutes = NAN;
    if (log_read(&log, path, NULL) == 0) {
        r->minutes = log_minutes(&log);
        check_seed(&log, seed, r);
    } else {
        r->code = EXIT_UNTRUSTWORTHY;
        snprintf(r->why, sizeof(r->why), "its log can not be read");
    }
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

struct score_estimate set_estimate(const struct run_set *s, int n_drop)
{
    double *const minutes = xcalloc(s->n, sizeof(*minutes));
    struct score_estimate e;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->runs[i].state == SET_FINISHED)
            minutes[n++] =
                s->runs[i].result.code == EXIT_REACHED ? s->runs[i].result.minutes : INFINITY;
    e = score_estimate(minutes, n, n_drop);
    free(minutes);
    return e;
}
