#include "cli/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/run_folder.h"
#include "eval/metric.h"
#include "trace/event_read.h"
#include "trace/samples.h"

/* Samples before these bytes are older than what is shown, at ten samples a second, too. */
static const uint64_t newest_bytes = 1 << 19;
/* Of silence, after which the folder is asked whether anybody holds it. */
static const int64_t patience_ns = 3000000000;

void watch_open(struct watch *w, const char *dir)
{
    *w = (struct watch){.dir = dir};
    live_open(&w->live, &(struct live_about){0});
}

static void leave_run(struct watch *w)
{
    tail_release(&w->events);
    tail_release(&w->samples);
    tail_release(&w->ingest);
    for (size_t i = 0; i < COUNT_OF(w->paths); i++) {
        free(w->paths[i]);
        w->paths[i] = NULL;
    }
    free(w->run);
    w->run = NULL;
}

void watch_release(struct watch *w)
{
    leave_run(w);
    live_release(&w->live);
}

/* ---- which run ---- */

/* When its events, or else its description, were written; 0: it is no run's folder. */
static double age_of(const char *dir)
{
    static const char *const names[] = {"events.jsonl", "run.json"};
    double newest = 0;
    struct stat st;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *const path = file_join(dir, names[i]);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
            newest = fmax(newest, (double)st.st_mtim.tv_sec + 1e-9 * (double)st.st_mtim.tv_nsec);
        free(path);
    }
    return newest;
}

/* The newest run below dir, at most so many folders deep, takes the place of an older *best. */
static void find_newest(const char *dir, int depth, char **best, double *best_age)
{
    const double age = age_of(dir);
    struct file_names names;

    if (age > *best_age) {
        free(*best);
        *best = xstrdup(dir);
        *best_age = age;
    }
    if (age > 0 || depth == 0 || file_list(dir, &names) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *const path = file_join(dir, names.all[i]);
        if (names.all[i][0] != '.' && file_is_folder(path))
            find_newest(path, depth - 1, best, best_age);
        free(path);
    }
    file_names_release(&names);
}

static void learn(struct watch *w)
{
    const struct metric_ops *metric;
    cJSON *run, *result;

    if (run_folder_read_json(w->run, "run.json", &run) < 0)
        return;
    if (run_folder_read_json(w->run, "result.json", &result) < 0)
        result = NULL;
    const char *const id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(result, "metric"));
    const cJSON *const target = cJSON_GetObjectItemCaseSensitive(result, "target");

    metric = id ? metric_find(id) : NULL;
    live_learn(&w->live,
               &(struct live_about){
                   .name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, "workload")),
                   .unit = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, "unit")),
                   .metric = metric ? metric->title : NULL,
                   .target = cJSON_IsNumber(target) ? target->valuedouble : 0,
                   .lower_is_better = metric && metric->direction == METRIC_LOWER_IS_BETTER});
    cJSON_Delete(run);
    cJSON_Delete(result);
}

static void look_at(struct watch *w, char *run)
{
    leave_run(w);
    live_again(&w->live);
    w->run = run;
    w->paths[0] = file_join(run, "events.jsonl");
    w->paths[1] = file_join(run, "samples.csv");
    w->paths[2] = file_join(run, "ingest.csv");
    w->events = (struct tail){.path = w->paths[0]};
    w->samples = (struct tail){.path = w->paths[1], .has_header = 1, .newest = newest_bytes};
    w->ingest = (struct tail){.path = w->paths[2], .has_header = 1, .newest = newest_bytes};
    w->news_ns = clock_ns();
    w->last_ms = w->last_ns = 0;
}

/* Takes the newest run; whether it is another one than before. */
static int choose_run(struct watch *w)
{
    char *best = NULL;
    double age = 0;

    find_newest(w->dir, 2, &best, &age);
    if (!best || (w->run && strcmp(best, w->run) == 0)) {
        free(best);
        return 0;
    }
    look_at(w, best);
    return 1;
}

/* ---- what its files say ---- */

static void take_event(void *context, const struct trace_event *e)
{
    struct watch *const w = context;

    if (e->key == KEY_init_start) /* also of a run that goes on */
        live_again(&w->live);
    live_event(&w->live, e);
    w->last_ms = e->time_ms;
    w->last_ns = e->elapsed_ns;
}

static void take_lines(struct watch *w)
{
    char *line = w->events.lines.s;

    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        event_read(line, (size_t)(end - line), take_event, w);
    }
}

static int read_events(struct watch *w)
{
    enum tail_news news;
    int any = 0;

    while ((news = tail_read(&w->events)) != TAIL_NOTHING) {
        if (news == TAIL_AGAIN)
            live_again(&w->live);
        else
            take_lines(w);
        any = 1;
    }
    return any;
}

static void take_samples(struct watch *w, const struct samples *s)
{
    for (size_t c = 0; c < LIVE_COLUMNS; c++) {
        const double *const numbers = samples_column(s, live_column(c));
        for (size_t i = 0; numbers && i < s->n_rows; i++)
            live_sample(&w->live, c, s->elapsed_s[i], numbers[i]);
    }
}

static int read_samples(struct watch *w, struct tail *t)
{
    enum tail_news news;
    struct samples s;
    int any = 0;

    while ((news = tail_read(t)) != TAIL_NOTHING) {
        any = 1;
        if (news == TAIL_AGAIN || samples_read_memory(t->lines.s, t->lines.len, &s) < 0)
            continue;
        take_samples(w, &s);
        samples_release(&s);
    }
    return any;
}

static int read_files(struct watch *w)
{
    const int told = read_events(w), sampled = read_samples(w, &w->samples);

    return read_samples(w, &w->ingest) | told | sampled;
}

/* ---- how it stands ---- */

/* A run that wrote its end between the look at its files and the look at the lock has ended. */
static enum watch_state state_of(struct watch *w, enum watch_patience patience)
{
    const int held = patience == WATCH_PATIENT && clock_ns() - w->news_ns < patience_ns;

    if (w->live.phase != LIVE_ENDED && (held || run_folder_is_held(w->run)))
        return WATCH_AT_WORK;
    read_files(w);
    if (w->live.phase != LIVE_ENDED)
        return WATCH_KILLED;
    return strcmp(w->run, w->dir) != 0 && run_folder_is_held(w->dir) ? WATCH_BETWEEN : WATCH_ENDED;
}

static void move_on(struct watch *w)
{
    const int64_t since_ms = clock_wall_ms() - w->last_ms;

    w->live.now_ns = w->last_ns;
    if (w->state == WATCH_AT_WORK && w->last_ms && since_ms > 0)
        w->live.now_ns += since_ms * 1000000;
}

void watch_read(struct watch *w, enum watch_patience patience)
{
    const int is_done = !w->run || w->state == WATCH_BETWEEN;

    if (is_done && choose_run(w))
        w->state = WATCH_AT_WORK;
    if (!w->run)
        return;
    if (read_files(w)) {
        w->news_ns = clock_ns();
        learn(w);
    }
    w->state = state_of(w, patience);
    move_on(w);
}

void watch_draw(const struct watch *w, const struct live_space *space, struct str *out)
{
    struct live_space left = *space;
    struct live shown = w->live;

    if (w->state == WATCH_KILLED)
        shown.phase = LIVE_KILLED;
    live_draw_words(w->run ? w->run : w->dir, space, out);
    left.rows--;
    if (w->state == WATCH_BETWEEN) {
        live_draw_words("the next run has not started yet", space, out);
        left.rows--;
    }
    live_draw(&shown, &left, out);
}

int watch_exit_code(const struct watch *w)
{
    if (w->state == WATCH_AT_WORK || w->state == WATCH_BETWEEN)
        return EXIT_REACHED;
    return w->state == WATCH_ENDED && strcmp(w->live.status, "success") == 0 ? EXIT_REACHED
                                                                             : EXIT_NOT_REACHED;
}
