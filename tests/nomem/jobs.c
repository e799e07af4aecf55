#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/run_folder.h"
#include "data/idx.h"
#include "data/jpeg_encode.h"
#include "data/verify.h"
#include "test_data_fixture.h"
#include "trace/sinks.h"
#include "train/loop.h"

enum { N_PICTURES = 6, SIZE = 8, BATCH = 2, STEPS = 2 };

static char *data; /* the folder that all jobs read */

static char *in_data(const char *name)
{
    return file_join(data, name);
}

/* ---- options ---- */

static int parse_options(const char *dir, uint64_t *made)
{
    char *const path = in_data("options.yaml");
    char *argv[] = {"run",           "resnet50", "-p", "sample",   "--lr=0.25", "-o",
                    "batch_size=16", "--config", path, "--epochs", "3",         NULL};
    const struct command *const command = command_find("run");
    char own[256] = {0};
    struct str json = STR_INIT;
    struct setup s;
    uint64_t seed = 0;
    int rc = setup_parse(&s, command, (int)COUNT_OF(argv) - 1, argv, command->tables[0], own);

    (void)dir;
    if (rc == 0)
        rc = train_settings_check(&s.settings.train);
    if (rc == 0)
        rc = run_folder_read_seed(data, &seed);
    if (rc == 0) {
        command_line_add_json(&s.line, &json);
        str_printf(&json, "%llu", (unsigned long long)seed);
        *made = checksum_add(*made, json.s, json.len);
        str_release(&json);
    }
    setup_release(&s);
    free(path);
    return rc;
}

/* ---- data ---- */

static void add_batch(const struct batch *b, uint64_t *made)
{
    const size_t n = b->tensor[BATCH_LABELS].dims[0];

    *made = checksum_add(*made, b->tensor[BATCH_IMAGES].data, n * SIZE * SIZE * IMAGE_CHANNELS);
    *made = checksum_add(*made, b->tensor[BATCH_LABELS].data, n * sizeof(int32_t));
    *made = checksum_add(*made, b->tensor[BATCH_WEIGHTS].data, n * sizeof(float));
}

static struct pipeline_config stream(const struct source *s, enum pipeline_mode mode)
{
    return (struct pipeline_config){.source = s,
                                    .mode = mode,
                                    .seed = 3,
                                    .batch_size = BATCH,
                                    .train = {.size = SIZE, .flip = 1},
                                    .eval = {.resize = SIZE + 2, .crop = SIZE}};
}

static int drain(const struct source *s, enum pipeline_mode mode, uint64_t *made)
{
    struct pipeline_config f = stream(s, mode);
    const struct batch *b;
    struct pipeline *p;
    int rc;

    f.n_batches = pipeline_steps_per_epoch(&f);
    TRY(pipeline_open(&f, &p));
    while ((rc = pipeline_next(p, &b)) == 0 && b) {
        add_batch(b, made);
        pipeline_done(p, b);
    }
    if (rc == 0 && pipeline_bad_count(p))
        *made = 1; /* every sample is good: whoever calls one bad has skipped work */
    pipeline_close(p);
    return rc;
}

static int read_data(const char *name, uint64_t *made)
{
    char *const path = in_data(name);
    struct source *s;
    int rc = source_open(path, &s);

    free(path);
    if (rc < 0)
        return rc;
    rc = drain(s, PIPELINE_TRAIN, made);
    if (rc == 0)
        rc = drain(s, PIPELINE_EVAL, made);
    source_close(s);
    return rc;
}

static int read_folder(const char *dir, uint64_t *made)
{
    (void)dir;
    return read_data("pictures", made);
}

static int read_records(const char *dir, uint64_t *made)
{
    (void)dir;
    return read_data("records.rec", made);
}

static int to_records(const char *from, const char *prefix, struct prepare_result *out)
{
    struct source *s;
    int rc;

    TRY(source_open(from, &s));
    rc = prepare_convert(s, &(struct prepare_to){.prefix = prefix}, out);
    source_close(s);
    return rc;
}

static int prepare_records(const char *dir, uint64_t *made)
{
    char *const from = in_data("pictures"), *const to = file_join(dir, "made");
    char *const idx = in_data("labels.gz");
    struct prepare_result r = {0};
    struct idx x = {0};
    int rc = idx_load(idx, 1, &x);

    if (rc == 0)
        rc = to_records(from, to, &r);
    *made += r.content_checksum + r.n_train + x.dims[0];
    idx_release(&x);
    free(from);
    free(to);
    free(idx);
    return rc;
}

static void add_words(void *context, const struct verify_item *item)
{
    uint64_t *const made = context;

    *made = checksum_add(*made, item->what, strlen(item->what));
}

static int verify_folder(const char *dir, uint64_t *made)
{
    char *const from = in_data("pictures");
    struct verify v;
    int rc;

    (void)dir;
    rc = verify_run(&(struct verify_config){.dir = from, .n_classes = 2}, &v);
    free(from);
    if (rc < 0)
        return rc;
    *made += v.split[0].n_good + v.split[0].decode_bytes;
    verify_each(&v, add_words, made);
    verify_release(&v);
    return 0;
}

/* ---- training ---- */

static struct sum_weight build(void *context, struct graph *g, int batch)
{
    struct tensor *x = graph_input(g, "images", DT_U8, SHAPE(batch, SIZE, SIZE, 3)), *y;

    (void)context;
    x = image_norm(g, x, (struct image_norm){{128, 128, 128}, {0.02F, 0.02F, 0.02F}});
    x = conv2d(g, x, "conv1", (struct conv){.out = 4, .k = 3, .stride = 2, .pad = 1});
    x = relu(g, batchnorm(g, x, "bn1", (struct norm){0}));
    y = conv2d(g, x, "conv2", (struct conv){.out = 4, .k = 1, .stride = 1});
    x = relu(g, add(g, x, batchnorm(g, y, "bn2", (struct norm){0})));
    x = linear(g, avgpool_all(g, x), "fc", 3, 0.5);
    if (g->mode == GRAPH_EVAL)
        graph_output(g, "scores", x);
    return softmax_xent(g, x, graph_input(g, "labels", DT_I32, SHAPE(batch)),
                        graph_input(g, "weights", DT_F32, SHAPE(batch)), (struct loss){0.1});
}

static int open_stream(void *context, enum pipeline_mode mode, int batch, uint64_t epoch,
                       uint64_t step, struct pipeline **out)
{
    struct pipeline_config f = stream(context, mode);

    f.batch_size = (size_t)batch;
    f.first_epoch = epoch;
    f.first_step = step;
    f.n_batches = mode == PIPELINE_EVAL ? pipeline_steps_per_epoch(&f) : 0;
    return out ? pipeline_open(&f, out) : pipeline_check(&f);
}

static void log_nothing(const void *context, struct trace *t)
{
    (void)context;
    (void)t;
}

static int add_file(const char *dir, const char *name, uint64_t *made)
{
    char *const path = file_join(dir, name), *bytes = NULL;
    size_t n = 0;
    const int rc = file_read(path, 1 << 20, &bytes, &n);

    if (rc == 0)
        *made = checksum_add(*made, bytes, n);
    free(bytes);
    free(path);
    return rc;
}

static int open_trace(struct trace *t, const char *dir)
{
    char *const log = file_join(dir, "mlperf.log"), *const events = file_join(dir, "events.jsonl");
    const struct mllog_options mllog = {.path = log};
    const struct jsonl_options jsonl = {.path = events};
    int rc;

    trace_open(t);
    rc = trace_add(t, &mllog_sink, &mllog);
    if (rc == 0)
        rc = trace_add(t, &jsonl_sink, &jsonl);
    free(log);
    free(events);
    if (rc < 0)
        trace_close(t);
    return rc;
}

static int train_on(const struct source *s, const struct engine *e, const char *dir, uint64_t *made)
{
    const struct task task = {.name = "small",
                              .unit = "images",
                              .metric = metric_find("top1"),
                              .context = (void *)(uintptr_t)s,
                              .build = build,
                              .open = open_stream,
                              .log = log_nothing,
                              .n_train = s->n_samples,
                              .n_eval = s->n_samples};
    char *const init = in_data("first.safetensors");
    struct train_settings settings;
    struct train_result result = {0};
    struct trace trace;
    struct train_run run = {.task = &task,
                            .settings = &settings,
                            .engine = e,
                            .trace = &trace,
                            .dir = dir,
                            .init = file_exists(init) ? init : NULL,
                            .seed = 11};
    int rc, closed;

    opt_defaults(&train_options, &settings);
    settings.batch_size = BATCH;
    settings.steps = STEPS;
    rc = train_open(&run);
    if (rc == 0) {
        rc = open_trace(&trace, dir);
        if (rc == 0) {
            rc = train_run(&run, &result);
            closed = trace_close(&trace);
            rc = rc < 0 ? rc : closed;
        }
        train_close(&run);
    }
    if (rc == 0 && result.checkpoint_failed)
        rc = err(E_IO, "the checkpoint is not written");
    *made += (uint64_t)result.steps + result.samples + result.bad_samples;
    opt_release(&train_options, &settings);
    free(init);
    return rc;
}

static int train(const char *dir, uint64_t *made)
{
    char *const path = in_data("records.rec");
    struct engine e = {0};
    struct source *s;
    int rc = source_open(path, &s);

    free(path);
    if (rc < 0)
        return rc;
    rc = engine_open(&e, "ref", (struct device_options){.threads = 1});
    if (rc == 0) {
        rc = train_on(s, &e, dir, made);
        engine_close(&e);
    }
    source_close(s);
    return rc < 0 ? rc : add_file(dir, CHECKPOINT_NAME, made);
}

static int explain(const char *dir, uint64_t *made)
{
    struct train_settings settings;
    struct task task = {.name = "small", .build = build};
    struct str text = STR_INIT;
    struct engine e = {0};
    struct session s;
    int rc;

    (void)dir;
    TRY(engine_open(&e, "null", (struct device_options){.threads = 1}));
    opt_defaults(&train_options, &settings);
    settings.batch_size = BATCH;
    rc = session_open(&s, &task, &settings, &e);
    if (rc == 0) {
        plan_explain(&s.train, &text);
        *made = checksum_add(*made, text.s, text.len);
        str_release(&text);
        session_close(&s);
    }
    opt_release(&train_options, &settings);
    engine_close(&e);
    return rc;
}

const struct job jobs[] = {{"options", parse_options},
                           {"explain", explain},
                           {"folder", read_folder},
                           {"records", read_records},
                           {"prepare", prepare_records},
                           {"verify", verify_folder},
                           {"train", train},
                           {NULL, NULL}};

/* ---- before and after ---- */

static void put_pictures(void)
{
    struct bytes file = {0};
    char name[64];

    for (int i = 0; i < N_PICTURES; i++) {
        uint8_t *const px = picture_new(20, 16, i);

        snprintf(name, sizeof(name), "pictures/c%d", i % 3);
        make_dir(data, name);
        snprintf(name, sizeof(name), "pictures/c%d/%d.img", i % 3, i);
        if (i % 2)
            make_jpeg(
                &(struct jpeg_kind){.components = 3, .h = 2, .v = 2, .progressive = i % 4 == 1}, px,
                20, 16, &file);
        else
            make_png(20, 16, PNG_COLOR_TYPE_RGB, 8, i % 4 == 2, px, &file);
        write_file(data, name, file.data, file.n);
        free(px);
    }
    bytes_release(&file);
}

static void put_labels(void)
{
    static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9};
    char *const path = in_data("labels.gz");
    gzFile f = gzopen(path, "wb");

    if (!f || gzwrite(f, labels, sizeof(labels)) <= 0 || gzclose(f) != Z_OK)
        BUG("write %s", path);
    free(path);
}

static void must(int rc)
{
    if (rc < 0)
        BUG("%s", err_reason());
}

void jobs_prepare(const char *dir)
{
    static const char options[] = "# settings\noptimizer: sgd\n'momentum': \"0.8\"\n";
    static const char run[] = "{\"stave_version\": \"0\", \"seed\": 41, \"options\": {\"a\": [1]}}";
    char *pictures, *prefix, *first, *made;
    struct prepare_result r;
    uint64_t sum = 0;

    data = xstrdup(dir);
    write_file(data, "options.yaml", options, strlen(options));
    write_file(data, "run.json", run, strlen(run));
    put_pictures();
    put_labels();
    pictures = in_data("pictures");
    prefix = in_data("records");
    must(to_records(pictures, prefix, &r));
    must(train(dir, &sum)); /* what the runs start from, so that they also read a checkpoint */
    made = in_data(CHECKPOINT_NAME);
    first = in_data("first.safetensors");
    if (rename(made, first) < 0)
        BUG("rename %s", made);
    free(pictures);
    free(prefix);
    free(made);
    free(first);
}

int jobs_check(const char *dir)
{
    char *const saved = file_join(dir, CHECKPOINT_NAME), *const rec = file_join(dir, "made.rec");
    struct checkpoint c;
    struct source *s;
    int rc = 0;

    if (file_exists(saved)) {
        rc = checkpoint_open_file(&c, saved);
        if (rc == 0)
            checkpoint_close(&c);
    }
    if (rc == 0 && file_exists(rec)) {
        rc = source_open(rec, &s);
        if (rc == 0)
            source_close(s);
    }
    free(saved);
    free(rec);
    return rc;
}
