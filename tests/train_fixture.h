/* A model small enough for ref under the real training loop: a data set, a run folder, the
 * settings; a test changes what it is about. Include in one file of a program. */
#ifndef STAVE_TESTS_TRAIN_FIXTURE_H
#define STAVE_TESTS_TRAIN_FIXTURE_H

#include <math.h>

#include "ops/ops.h"
#include "test_data_pipeline.h"
#include "train/loop.h"

enum { N_CLASSES = 3, BATCH = 5, STEPS_PER_EPOCH = N_GOOD / BATCH };

/* The task's context. */
struct small {
    const struct source *source;
    struct image_norm norm;
};

static struct sum_weight build(void *context, struct graph *g, int batch)
{
    const struct small *const t = context;
    struct tensor *x = graph_input(g, "images", DT_U8, SHAPE(batch, SIZE, SIZE, 3));

    x = conv2d(g, image_norm(g, x, t->norm), "conv", (struct conv){.out = 4, .k = 4, .stride = 4});
    x = relu(g, batchnorm(g, x, "conv", (struct norm){0}));
    x = linear(g, avgpool_all(g, x), "fc", N_CLASSES, 0.5);
    if (g->mode == GRAPH_EVAL)
        graph_output(g, "scores", x);
    return softmax_xent(g, x, graph_input(g, "labels", DT_I32, SHAPE(batch)),
                        graph_input(g, "weights", DT_F32, SHAPE(batch)), (struct loss){0});
}

static int open_stream(void *context, enum pipeline_mode mode, int batch, uint64_t epoch,
                       uint64_t step, struct pipeline **out)
{
    const struct small *const t = context;
    struct pipeline_config f =
        mode == PIPELINE_TRAIN ? train_config(t->source) : eval_config(t->source);

    f.batch_size = (size_t)batch;
    f.first_epoch = epoch;
    f.first_step = step;
    if (mode == PIPELINE_EVAL)
        f.n_batches = pipeline_steps_per_epoch(&f);
    return out ? pipeline_open(&f, out) : pipeline_check(&f);
}

static void log_nothing(const void *context, struct trace *t)
{
    (void)context;
    (void)t;
}

/* A data set, a run folder and the settings of a run; a test changes what it is about. */
struct rig {
    char *data, *dir;
    struct small small;
    struct source *source;
    struct engine engine;
    struct trace trace;
    struct train_settings s;
    struct train_result result;
    int resume;
    long long parameters; /* that the task claims */
};

/* On a folder of N_GOOD pictures, which becomes the rig's. */
UNUSED_FUNCTION void rig_begin_on(struct rig *r, char *data)
{
    *r = (struct rig){.data = data, .dir = temp_dir()};
    r->source = open_source(r->data);
    r->small = (struct small){r->source, {{128, 128, 128}, {0.02F, 0.02F, 0.02F}}};
    assert_int_equal(engine_open(&r->engine, "ref", (struct device_options){.threads = 1}), 0);
    trace_open(&r->trace);
    opt_defaults(&train_options, &r->s);
    r->s.batch_size = BATCH;
    r->s.epochs = 3;
    r->s.lr = 0.05;
}

UNUSED_FUNCTION void rig_begin(struct rig *r)
{
    rig_begin_on(r, mixed_folder(0));
}

UNUSED_FUNCTION int rig_train(struct rig *r)
{
    const struct task task = {.name = "small",
                              .unit = "images",
                              .metric = metric_find("top1"),
                              .context = &r->small,
                              .build = build,
                              .open = open_stream,
                              .log = log_nothing,
                              .n_train = N_GOOD,
                              .n_eval = N_GOOD,
                              .classes = N_CLASSES,
                              .parameters = r->parameters};
    struct train_run run = {.task = &task,
                            .settings = &r->s,
                            .engine = &r->engine,
                            .trace = &r->trace,
                            .dir = r->dir,
                            .resume = r->resume,
                            .seed = 11};
    int rc = train_open(&run);

    if (rc == 0) {
        rc = train_run(&run, &r->result);
        train_close(&run);
    }
    return rc;
}

UNUSED_FUNCTION void rig_end(struct rig *r)
{
    assert_int_equal(trace_close(&r->trace), 0);
    engine_close(&r->engine);
    opt_release(&train_options, &r->s);
    source_close(r->source);
    remove_dir(r->data);
    remove_dir(r->dir);
}

#endif
