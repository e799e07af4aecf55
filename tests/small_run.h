/* `stave run` inside a forked process of the test, on a workload small enough for ref: the program
 * of the user, files and all, in milliseconds. The small workload takes the place of resnet50,
 * which it therefore is called. Data: run_data's. Include this in one file of a test program. */
#ifndef STAVE_TEST_SMALL_RUN_H
#define STAVE_TEST_SMALL_RUN_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command.h"
#include "ops/ops.h"
#include "run_fixture.h"
#include "trace/trace.h"
#include "train/checkpoint.h"
#include "workloads/workload.h"

#define UNUSED_FUNCTION __attribute__((unused)) static

enum { SMALL_SIZE = 8 };

/* The command that words are given to. */
#ifndef SMALL_COMMAND
#define SMALL_COMMAND "run"
#endif

/* What the rules say of it; a test may define others. */
#ifndef SMALL_BENCHMARK
#define SMALL_BENCHMARK "resnet"
#define SMALL_DIVISION "open"
#endif

/* ---- the workload ---- */

struct small_settings {
    int unused; /* a table needs an owner */
};

struct small_task {
    const struct data_settings *data;
    uint64_t seed;
    struct source *train, *val;
};

static struct sum_weight small_build(void *context, struct graph *g, int batch)
{
    const struct image_norm norm = {{128, 128, 128}, {0.02F, 0.02F, 0.02F}};
    struct tensor *x = graph_input(g, "images", DT_U8, SHAPE(batch, SMALL_SIZE, SMALL_SIZE, 3));

    (void)context;
    x = conv2d(g, image_norm(g, x, norm), "conv", (struct conv){.out = 4, .k = 4, .stride = 4});
    x = relu(g, batchnorm(g, x, "conv", (struct norm){0}));
    x = linear(g, avgpool_all(g, x), "fc", RUN_CLASSES, 0.5);
    if (g->mode == GRAPH_EVAL)
        graph_output(g, "scores", x);
    return softmax_xent(g, x, graph_input(g, "labels", DT_I32, SHAPE(batch)),
                        graph_input(g, "weights", DT_F32, SHAPE(batch)), (struct loss){0});
}

static int small_stream(void *context, enum pipeline_mode mode, int batch, uint64_t epoch,
                        uint64_t step, struct pipeline **out)
{
    const struct small_task *const t = context;
    struct pipeline_config f = data_config(t->data);

    f.n_classes = RUN_CLASSES;

    f.source = mode == PIPELINE_TRAIN ? t->train : t->val;
    f.mode = mode;
    f.seed = t->seed;
    f.batch_size = (size_t)batch;
    f.first_epoch = epoch;
    f.first_step = step;
    f.train = (struct augment_train){.size = SMALL_SIZE, .flip = 1};
    f.eval = (struct augment_eval){.resize = SMALL_SIZE, .crop = SMALL_SIZE};
    if (mode == PIPELINE_EVAL)
        f.n_batches = pipeline_steps_per_epoch(&f);
    return out ? pipeline_open(&f, out) : pipeline_check(&f);
}

static void small_log(const void *context, struct trace *t)
{
    (void)context;
    TRACE_POINT(t, submission_benchmark, trace_string(SMALL_BENCHMARK));
    TRACE_POINT(t, submission_division, trace_string(SMALL_DIVISION));
    TRACE_POINT(t, submission_org, trace_string("Stave's tests"));
    TRACE_POINT(t, submission_platform, trace_string("a test"));
    TRACE_POINT(t, submission_status, trace_string("research"));
}

static void small_close(struct task *t)
{
    struct small_task *const s = t->context;

    if (!s)
        return;
    source_close(s->train);
    source_close(s->val);
    free(s);
    t->context = NULL;
}

static int small_open(const struct workload_settings *s, uint64_t seed, struct task *out)
{
    struct small_task *const t = xcalloc(1, sizeof(*t));

    *t = (struct small_task){.data = &s->data, .seed = seed};
    *out = (struct task){.name = "small",
                         .unit = "images",
                         .metric = metric_find("top1"),
                         .context = t,
                         .build = small_build,
                         .open = small_stream,
                         .log = small_log};
    TRY(source_open_split(s->data.data_dir, "train", &t->train));
    TRY(source_open_split(s->data.data_dir, "val", &t->val));
    out->sources[0] = t->train;
    out->sources[1] = t->val;
    out->n_train = t->train->n_samples;
    out->n_eval = t->val->n_samples;
    return 0;
}

static const char *small_rules(const struct workload_settings *s, const struct task *t,
                               struct str *out)
{
    (void)t;
    str_add(out, s->from_weights ? "from given weights\n" : "from random weights\n");
    return SMALL_DIVISION;
}

static const char *const small_preset[][2] = {{NULL, NULL}};
static const struct preset small_presets[] = {{"small", "", small_preset}, {0}};
static const struct opt_table small_options = {"small", NULL, 0};

const struct workload workload_resnet50 = {
    .name = "resnet50",
    .help = "",
    .data = "",
    .options = &small_options,
    .settings_bytes = sizeof(struct small_settings),
    .presets = small_presets,
    .ruleset = "4.0.0",
    .benchmark = SMALL_BENCHMARK,
    .open = small_open,
    .close = small_close,
    .rules = small_rules,
};

/* ---- the program ---- */

/* As main does. */
static int small_call(int argc, char **argv)
{
    const struct command *const c = command_find(argv[0]);
    int rc;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    rc = c->run(c, argc, argv);
    if (rc < 0) {
        fprintf(stderr, "stave: %s\n", err_reason());
        rc = command_exit_code(rc);
    }
    fflush(NULL);
    return rc;
}

static int small_main(const char *words)
{
    char *const copy = xasprintf(SMALL_COMMAND " resnet50 --device ref --threads 1 %s", words),
                *save = NULL;
    char *argv[64];
    int n = 0, rc;

    for (char *w = strtok_r(copy, " ", &save); w && n < 63; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    argv[n] = NULL;
    rc = small_call(n, argv);
    free(copy);
    return rc;
}

/* A set of runs or a search starts its program again, which is the test here: the first line of its
 * main. */
UNUSED_FUNCTION void small_is_started(int argc, char **argv)
{
    if (argc > 1 && command_find(argv[1]))
        _exit(small_call(argc - 1, argv + 1));
}

/* One run of the program. What it says goes to the file said, or to /dev/null. */
struct small_run {
    const char *words, *said;
    void (*prepare)(void); /* called in its process first; may be NULL */
};

/* The life of the process; returns its exit code. */
static int small_process(void *context)
{
    const struct small_run *const r = context;
    const int out =
        open(r->said ? r->said : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    dup2(out, 1);
    dup2(out, 2);
    if (r->prepare)
        r->prepare();
    return small_main(r->words);
}

UNUSED_FUNCTION pid_t small_start(struct small_run r)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(small_process(&r));
    return pid;
}

/* The exit code, or 1000 + the signal. */
UNUSED_FUNCTION int small_wait(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ---- what the tests run, and what it must leave ---- */

/* Four steps an epoch: checkpoints within epochs and at their ends, and after the first epoch one
 * whose evaluation is still to come. */
#define SMALL_RECIPE                                                                               \
    "-b 6 --accumulate 2 --epochs 3 --eval-every 2 --eval-offset 1 --checkpoint-steps 3 --lr "     \
    "0.05 "                                                                                        \
    "--schedule cosine --warmup-epochs 0.5"
enum { SMALL_STEPS = 12 };

/* No model has all right: the checks of the rounds want an accuracy below 1. */
UNUSED_FUNCTION void small_data(const char *dir)
{
    static const enum run_damage one_other[RUN_VAL] = {DAMAGE_OTHER};

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, one_other);
}

static char *small_bytes(const char *dir, const char *name, size_t *n)
{
    char *const path = file_join(dir, name);
    char *bytes;

    if (file_read(path, 1 << 20, &bytes, n) < 0)
        fail_msg("%s", err_reason());
    free(path);
    return bytes;
}

/* Runs these words, after prepare (or NULL) in the process of the run, and returns the exit code;
 * *said, heap, is what the run said. */
UNUSED_FUNCTION int run_words(const char *data, void (*prepare)(void), char **said, const char *fmt,
                              ...) __attribute__((format(printf, 4, 5)));
UNUSED_FUNCTION int run_words(const char *data, void (*prepare)(void), char **said, const char *fmt,
                              ...)
{
    char *const path = file_join(data, "said");
    char words[1024];
    va_list args;
    size_t n;
    int code;

    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    code = small_wait(
        small_start((struct small_run){.words = words, .said = path, .prepare = prepare}));
    assert_int_equal(file_read(path, 1 << 20, said, &n), 0);
    free(path);
    return code;
}

/* The newest checkpoints of two run folders are the same bytes. */
UNUSED_FUNCTION void small_check_same(const char *a, const char *b)
{
    size_t na, nb;
    char *const x = small_bytes(a, CHECKPOINT_NAME, &na);
    char *const y = small_bytes(b, CHECKPOINT_NAME, &nb);

    if (na != nb || memcmp(x, y, na) != 0)
        fail_msg("the checkpoints of %s and %s differ", a, b);
    free(x);
    free(y);
}

static int small_is_expected(const char *name)
{
    static const char *const names[] = {"run.json",    "mlperf.log",    "events.jsonl",
                                        "stages.csv",  "samples.csv",   "result.json",
                                        "report.html", CHECKPOINT_NAME, CHECKPOINT_PREVIOUS};
    int n;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return sscanf(name, "mlperf.%d.log", &n) == 1 || sscanf(name, "samples.%d.csv", &n) == 1 ||
           name[0] == '.';
}

/* Every file of the folder is one of a run's, and can be read. */
UNUSED_FUNCTION void small_check_files(const char *dir)
{
    DIR *const d = opendir(dir);

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (!small_is_expected(e->d_name))
            fail_msg("%s was left in %s", e->d_name, dir);
        if (strstr(e->d_name, ".log") || strstr(e->d_name, ".jsonl"))
            cJSON_Delete(read_lines(dir, e->d_name));
    }
    closedir(d);
    cJSON_Delete(read_json(dir, "run.json"));
}

/* The result of the undisturbed run, but for times and what only the last start counts. */
UNUSED_FUNCTION void small_check_result(const char *straight, const char *dir)
{
    cJSON *const want = read_json(straight, "result.json");
    cJSON *const have = read_json(dir, "result.json");

    assert_string_equal(string_of(have, "status"), string_of(want, "status"));
    assert_true(number_of(have, "steps") == SMALL_STEPS);
    assert_true(number_of(have, "quality") == number_of(want, "quality"));
    cJSON_Delete(want);
    cJSON_Delete(have);
}

#endif
