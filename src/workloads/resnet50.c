/* Image classification with ResNet-50 v1.5. Preset imagenet: MLPerf Training's closed division,
 * ruleset 4.0.0, at a batch for which a reference convergence point exists. Preset sample: the same
 * model on Fashion-MNIST, where only class count and image size differ. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "data/labels.h"
#include "eval/metrics.h"
#include "models/resnet50.h"
#include "rules/rcp.h"
#include "rules/ruleset.h"
#include "workloads/borrow.h"
#include "workloads/convert.h"
#include "workloads/workload.h"

extern const struct workload workload_resnet50;

struct resnet50_settings {
    long long classes, image_size, eval_resize;
    double area_min, area_max, label_smoothing;
    int flip, zero_gamma, status;
    char *pixel_mean, *pixel_std, *org, *platform;
};

static const char *const statuses[] = {"research", "preview", "onprem", "cloud", NULL};

/* clang-format off */
#define ROW(...) OPT_ROW(resnet50_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("classes", OPT_INT, classes, .dflt = "1000", .min = 2, .max = 1e6, .arg = "N", .help = "Classes to tell apart"),
    ROW("image-size", OPT_INT, image_size, .dflt = "224", .min = 8, .max = 4096, .arg = "N",
        .help = "Height and width of the images the model sees"),
    ROW("eval-resize", OPT_INT, eval_resize, .dflt = "256", .min = 8, .max = 4096, .arg = "N",
        .help = "Shorter side before the centre is cut out for evaluation"),
    ROW("area-min", OPT_REAL, area_min, .dflt = "0.05", .min = 0.001, .max = 1, .arg = "X",
        .help = "Smallest share of the picture that a training crop covers"),
    ROW("area-max", OPT_REAL, area_max, .dflt = "1", .min = 0.001, .max = 1, .arg = "X", .help = "Largest share"),
    ROW("flip", OPT_BOOL, flip, .dflt = "yes", .help = "Mirror half of the training images"),
    ROW("label-smoothing", OPT_REAL, label_smoothing, .dflt = "0.1", .min = 0, .max = 0.99, .arg = "X",
        .help = "Share of the target spread over all classes, in training only"),
    ROW("zero-gamma", OPT_BOOL, zero_gamma, .dflt = "no",
        .help = "Start the last batch norm of every residual branch at zero, so that each block starts as its shortcut"),
    ROW("pixel-mean", OPT_STRING, pixel_mean, .dflt = "123.68,116.78,103.94", .arg = "R,G,B",
        .help = "Subtracted from pixels of 0 to 255"),
    ROW("pixel-std", OPT_STRING, pixel_std, .dflt = "1,1,1", .arg = "R,G,B", .help = "What they are divided by then"),
    ROW("org", OPT_STRING, org, .dflt = "unaffiliated", .arg = "NAME", .help = "Who submits, for the MLPerf log"),
    ROW("platform", OPT_STRING, platform, .dflt = "unnamed", .arg = "NAME", .help = "The machine's name, for the MLPerf log"),
    ROW("status", OPT_CHOICE, status, .dflt = "research", .choices = statuses, .arg = "NAME",
        .help = "Availability of the machine, for the MLPerf log"),
};

static const struct opt_table options = {"resnet50", rows, COUNT_OF(rows)};

static const char *const imagenet[][2] = {
    {"image-size", "224"}, {"eval-resize", "256"}, {"classes", "1000"}, {"target", "0.759"},
    {"batch-size", "1632"}, {"accumulate", "51"}, {"epochs", "35"}, {"eval-every", "4"}, {"eval-offset", "3"},
    {"optimizer", "lars"}, {"lr", "7.4"}, {"weight-decay", "5e-5"}, {"momentum", "0.9"}, {"end-lr", "1e-4"},
    {"schedule", "polynomial"}, {"decay-power", "2"}, {"warmup-epochs", "2"}, {"label-smoothing", "0.1"},
    {NULL, NULL},
};

static const char *const sample[][2] = {
    {"image-size", "32"}, {"eval-resize", "32"}, {"classes", "10"}, {"target", "0.864"},
    {"batch-size", "128"}, {"epochs", "4"}, {"eval-every", "2"}, {"area-min", "0.9"}, {"zero-gamma", "yes"},
    {"optimizer", "lars"}, {"lr", "1.4"}, {"weight-decay", "5e-5"}, {"momentum", "0.9"}, {"end-lr", "1e-4"},
    {"schedule", "polynomial"}, {"decay-power", "2"}, {"warmup-epochs", "0.2"}, {"label-smoothing", "0.1"},
    {"pixel-mean", "73,73,73"}, {"pixel-std", "90,90,90"},
    {NULL, NULL},
};

static const struct preset presets[] = {
    {"imagenet", "MLPerf Training closed division, ruleset 4.0.0: 224x224, LARS, top-1 0.759", imagenet},
    {"sample", "Fashion-MNIST, 10,000 training images of 32x32, top-1 0.864 in four epochs", sample},
    {NULL, NULL, NULL},
};
/* clang-format on */

enum { MAX_FACTS = 8 };

/* The task's context. */
struct resnet50_run {
    const struct workload_settings *s;
    const struct resnet50_settings *own;
    const struct task *task;
    uint64_t seed;
    struct source *train, *val;
    struct image_norm norm;
    struct safetensors_meta facts[MAX_FACTS];
    char numbers[MAX_FACTS][24]; /* values among them */
};

static int read_triple(const char *name, const char *text, float out[3])
{
    char end;

    if (!text || sscanf(text, "%f,%f,%f%c", &out[0], &out[1], &out[2], &end) != 3)
        return err(E_USAGE, "%s: \"%s\" is not three numbers such as 123.68,116.78,103.94", name,
                   text ? text : "");
    for (int c = 0; c < 3; c++)
        if (!isfinite(out[c]))
            return err(E_USAGE, "%s: \"%s\" holds a number that is not finite", name, text);
    return 0;
}

static int read_norm(const struct resnet50_settings *own, struct image_norm *out)
{
    TRY(read_triple("pixel-mean", own->pixel_mean, out->mean));
    TRY(read_triple("pixel-std", own->pixel_std, out->scale));
    for (int c = 0; c < 3; c++) {
        if (!(out->scale[c] > 0))
            return err(E_USAGE, "pixel-std: %g is not a positive number", (double)out->scale[c]);
        out->scale[c] = 1 / out->scale[c];
    }
    return 0;
}

/* How weights start is the workload's choice, not the model's (Goyal et al. 2017, section 5.1). */
static void zero_last_gammas(const struct store *s)
{
    static const char last[] = ".conv3.bn.weight";

    for (int i = 0; i < s->n; i++) {
        const size_t n = strlen(s->weights[i]->name);
        if (n >= sizeof(last) && strcmp(s->weights[i]->name + n - (sizeof(last) - 1), last) == 0)
            s->weights[i]->init = (struct init){INIT_ZERO, 0};
    }
}

static struct sum_weight build(void *context, struct graph *g, int batch)
{
    const struct resnet50_run *const r = context;
    const int size = (int)r->own->image_size;
    struct tensor *const images = graph_input(g, "images", DT_U8, SHAPE(batch, size, size, 3));
    struct tensor *const labels = graph_input(g, "labels", DT_I32, SHAPE(batch));
    struct tensor *const weights = graph_input(g, "weights", DT_F32, SHAPE(batch));
    struct tensor *const scores = resnet50(g, image_norm(g, images, r->norm), (int)r->own->classes);

    if (r->own->zero_gamma)
        zero_last_gammas(g->store);
    if (g->mode == GRAPH_EVAL)
        graph_output(g, "scores", scores);
    return softmax_xent(
        g, scores, labels, weights,
        (struct loss){.smoothing = g->mode == GRAPH_TRAIN ? r->own->label_smoothing : 0});
}

static int open_pipeline(void *context, enum pipeline_mode mode, int batch, uint64_t epoch,
                         uint64_t step, struct pipeline **out)
{
    const struct resnet50_run *const r = context;
    struct pipeline_config c = data_config(&r->s->data);

    c.source = mode == PIPELINE_TRAIN ? r->train : r->val;
    c.mode = mode;
    c.seed = r->seed;
    c.batch_size = (size_t)batch;
    c.first_epoch = epoch;
    c.first_step = step;
    c.n_classes = (int)r->own->classes;
    c.train = (struct augment_train){.size = (int)r->own->image_size,
                                     .area_min = r->own->area_min,
                                     .area_max = r->own->area_max,
                                     .flip = r->own->flip};
    c.eval =
        (struct augment_eval){.resize = (int)r->own->eval_resize, .crop = (int)r->own->image_size};
    if (mode == PIPELINE_EVAL)
        c.n_batches = pipeline_steps_per_epoch(&c);
    return out ? pipeline_open(&c, out) : pipeline_check(&c);
}

/* ---- rules ---- */

enum { LARS = 1 << OPTIMISER_lars, SGD = 1 << OPTIMISER_sgd };

/* clang-format off */
static const struct closed_option closed[] = {
    {"steps", "0", 0, "the run must train to the target"},
    {"schedule", "polynomial", 0, "the learning rate must decay as a polynomial"},
    {"nesterov", "no", SGD, "the reference's momentum is not Nesterov's"},
    {"lars-eta", "0.001", LARS, "the reference's trust coefficient is fixed"},
    {"lars-rate", "inside", LARS, "the reference's momentum holds the learning rate"},
    {"clip-norm", "0", 0, "the reference clips no gradient"},
    {"synthetic", "no", 0, "the data is synthetic, not ImageNet-1k"},
    {"label-offset", "0|-1", 0, "labels must be the data set's"},
    {"max-pixels", "200M", 0, "another limit may leave pictures out"},
    {"exif-orientation", "ignore", 0, "the reference does not turn pictures"},
    {"eval-resize", "256", 0, "evaluation must scale as the reference does"},
    {"area-min", "0.05", 0, "crops must be drawn as the reference draws them"},
    {"area-max", "1", 0, "crops must be drawn as the reference draws them"},
    {"flip", "yes", 0, "the reference mirrors half of the training images"},
    {"zero-gamma", "no", 0, "weights must start as the reference's"},
    {"pixel-mean", "123.68,116.78,103.94", 0, "pixels must be normalised as the reference does"},
    {"pixel-std", "1,1,1", 0, "pixels must be normalised as the reference does"},
    /* The ruleset's table checks these by their log keys. */
    {"batch-size", NULL, 0, NULL}, {"accumulate", NULL, 0, NULL}, {"target", NULL, 0, NULL},
    {"eval-every", NULL, 0, NULL}, {"eval-offset", NULL, 0, NULL}, {"optimizer", NULL, 0, NULL},
    {"lr", NULL, 0, NULL}, {"lr-batch", NULL, 0, NULL}, {"warmup-epochs", NULL, 0, NULL},
    {"decay-epochs", NULL, 0, NULL}, {"end-lr", NULL, 0, NULL}, {"decay-power", NULL, 0, NULL},
    {"momentum", NULL, 0, NULL}, {"weight-decay", NULL, 0, NULL}, {"epsilon", NULL, 0, NULL},
    {"classes", NULL, 0, NULL}, {"image-size", NULL, 0, NULL}, {"label-smoothing", NULL, 0, NULL},
    /* Of schedules, optimisers and data that are not closed in any case. */
    {"decay-factor", NULL, 0, NULL}, {"decay-at", NULL, 0, NULL}, {"beta1", NULL, 0, NULL},
    {"beta2", NULL, 0, NULL}, {"synthetic-samples", NULL, 0, NULL},
    /* Free. */
    {"precision", NULL, 0, NULL}, {"loss-scale", NULL, 0, NULL}, {"dynamic-loss-scale", NULL, 0, NULL},
    {"epochs", NULL, 0, NULL}, {"checkpoint-every", NULL, 0, NULL}, {"seed", NULL, 0, NULL},
    {"checkpoint-steps", NULL, 0, NULL},
    {"data-dir", NULL, 0, NULL}, {"num-threads", NULL, 0, NULL}, {"prefetch", NULL, 0, NULL},
    {"reader", NULL, 0, NULL}, {"reader-depth", NULL, 0, NULL}, {"readahead", NULL, 0, NULL}, {"numa", NULL, 0, NULL},
    {"on-bad", NULL, 0, NULL}, {"org", NULL, 0, NULL}, {"platform", NULL, 0, NULL},
    {"status", NULL, 0, NULL},
    {NULL, NULL, 0, NULL},
};
/* clang-format on */

/* What the run really does, by log key: the rules check it, the log states it. */
enum { MAX_SETTINGS = 32, NOT_LOGGED = -1 };
struct settings {
    struct {
        const char *key;
        int trace_key; /* enum trace_key or NOT_LOGGED: only the rules ask */
        struct trace_value value;
    } rows[MAX_SETTINGS];
    size_t n;
};

/* A setting that the run does not have is not there. */
static void put(struct settings *s, const char *key, int trace_key, struct trace_value value)
{
    if (value.kind == TRACE_NONE)
        return;
    ASSERT(s->n < MAX_SETTINGS);
    s->rows[s->n].key = key;
    s->rows[s->n].trace_key = trace_key;
    s->rows[s->n++].value = value;
}
#define LOGGED(s, name, value) put((s), #name, KEY_##name, (value))
#define ASKED(s, name, value) put((s), #name, NOT_LOGGED, (value))

static struct trace_value end_lr(const struct train_settings *t)
{
    return t->schedule == SCHEDULE_POLYNOMIAL || t->schedule == SCHEDULE_COSINE
               ? trace_real(t->end_lr)
               : trace_none();
}

static struct trace_value decay_power(const struct train_settings *t)
{
    return t->schedule == SCHEDULE_POLYNOMIAL ? trace_real(t->decay_power) : trace_none();
}

static struct trace_value decay_length(const struct train_settings *t)
{
    return t->schedule == SCHEDULE_POLYNOMIAL || t->schedule == SCHEDULE_COSINE
               ? trace_real(train_decay_epochs(t))
               : trace_none();
}

static void add_lars(struct settings *s, const struct train_settings *t)
{
    LOGGED(s, lars_opt_base_learning_rate, trace_real(train_base_lr(t)));
    LOGGED(s, lars_opt_end_learning_rate, end_lr(t));
    LOGGED(s, lars_opt_learning_rate_decay_poly_power, decay_power(t));
    LOGGED(s, lars_opt_learning_rate_decay_steps, decay_length(t));
    LOGGED(s, lars_epsilon, trace_real(train_optim(t).eps));
    LOGGED(s, lars_opt_learning_rate_warmup_epochs, trace_real(t->warmup_epochs));
    LOGGED(s, lars_opt_momentum, trace_real(t->momentum));
    LOGGED(s, lars_opt_weight_decay, trace_real(t->weight_decay));
}

static void add_sgd(struct settings *s, const struct train_settings *t)
{
    LOGGED(s, sgd_opt_base_learning_rate, trace_real(train_base_lr(t)));
    LOGGED(s, sgd_opt_end_learning_rate, end_lr(t));
    LOGGED(s, sgd_opt_learning_rate_decay_poly_power, decay_power(t));
    LOGGED(s, sgd_opt_learning_rate_decay_steps, decay_length(t));
    LOGGED(s, sgd_opt_weight_decay, trace_real(t->weight_decay));
    LOGGED(s, sgd_opt_momentum, trace_real(t->momentum));
    LOGGED(s, model_bn_span, trace_int(t->batch_size / t->accumulate));
    LOGGED(s, opt_learning_rate_warmup_epochs, trace_real(t->warmup_epochs));
}

static void add_adamw(struct settings *s, const struct train_settings *t)
{
    LOGGED(s, opt_base_learning_rate, trace_real(train_base_lr(t)));
    LOGGED(s, opt_end_learning_rate, end_lr(t));
    LOGGED(s, opt_weight_decay, trace_real(t->weight_decay));
    LOGGED(s, opt_epsilon, trace_real(train_optim(t).eps));
    LOGGED(s, opt_learning_rate_warmup_epochs, trace_real(t->warmup_epochs));
}

static void run_settings(const struct workload_settings *s, const struct task *task,
                         struct settings *out)
{
    /* An optimiser without a row has no keys of its own. */
    static void (*const add_optimiser[N_OPTIMISERS])(struct settings *,
                                                     const struct train_settings *) = {
        [OPTIMISER_lars] = add_lars, [OPTIMISER_sgd] = add_sgd, [OPTIMISER_adamw] = add_adamw};
    const struct resnet50_settings *const own = s->own;
    const struct train_settings *const t = &s->train;

    out->n = 0;
    ASKED(out, target, trace_real(t->target));
    ASKED(out, train_samples, trace_int((long long)task->n_train)); /* the loop logs these two */
    ASKED(out, eval_samples, trace_int((long long)task->n_eval));
    ASKED(out, model_image_size, trace_int(own->image_size));
    ASKED(out, model_classes, trace_int(own->classes));
    ASKED(out, eval_every, trace_int(t->eval_every));
    ASKED(out, eval_offset, trace_int(t->eval_offset ? t->eval_offset : t->eval_every));
    LOGGED(out, global_batch_size, trace_int(t->batch_size));
    LOGGED(out, gradient_accumulation_steps, trace_int(t->accumulate));
    LOGGED(out, opt_name, trace_string(optimiser_names[t->optimizer]));
    LOGGED(out, label_smoothing, trace_real(own->label_smoothing));
    if (add_optimiser[t->optimizer])
        add_optimiser[t->optimizer](out, t);
}

static const struct rule_benchmark *benchmark(const struct workload_settings *s)
{
    return workload_benchmark(&workload_resnet50, s);
}

static size_t table_deviations(const struct rule_benchmark *b, const struct settings *s,
                               struct str *out)
{
    struct rule_setting given[MAX_SETTINGS];

    for (size_t i = 0; i < s->n; i++) {
        const struct trace_value *const v = &s->rows[i].value;
        given[i] = (struct rule_setting){.key = s->rows[i].key,
                                         .number = v->kind == TRACE_INT    ? (double)v->whole
                                                   : v->kind == TRACE_REAL ? v->real
                                                                           : 0,
                                         .text = v->kind == TRACE_STRING ? v->text : NULL};
    }
    return rules_deviations(b, given, s->n, out);
}

static const char *rules(const struct workload_settings *s, const struct task *t, struct str *out)
{
    struct settings settings;
    size_t deviations;

    str_printf(out, "ruleset %s, benchmark resnet\n", workload_ruleset(&workload_resnet50, s));
    run_settings(s, t, &settings);
    deviations = table_deviations(benchmark(s), &settings, out);
    deviations += workload_closed_deviations(&workload_resnet50, s, out);
    deviations += workload_start_deviations(benchmark(s), s, out);
    if (!s->computes) {
        deviations++;
        str_add(out, "the device computes nothing, so no result of it counts\n");
    }
    rcp_say_batch(workload_ruleset(&workload_resnet50, s), workload_resnet50.benchmark,
                  s->train.batch_size, out);
    str_add(out, "\n");
    return rules_division(deviations);
}

static void log_settings(const void *context, struct trace *t)
{
    const struct resnet50_run *const r = context;
    struct settings s;
    struct str words = STR_INIT;

    TRACE_POINT(t, submission_benchmark, trace_string(workload_resnet50.benchmark));
    TRACE_POINT(t, submission_division, trace_string(rules(r->s, r->task, &words)));
    TRACE_POINT(t, submission_org, trace_string(r->own->org));
    TRACE_POINT(t, submission_platform, trace_string(r->own->platform));
    TRACE_POINT(t, submission_status, trace_string(statuses[r->own->status]));
    run_settings(r->s, r->task, &s);
    for (size_t i = 0; i < s.n; i++)
        if (s.rows[i].trace_key != NOT_LOGGED)
            trace_emit(t, &(const struct trace_event){.key = (enum trace_key)s.rows[i].trace_key,
                                                      .value = s.rows[i].value,
                                                      .file = __FILE__,
                                                      .line = __LINE__});
    str_release(&words);
}

/* ---- life ---- */

/* ResNet-50 v1.5 has 25,557,032 parameters with 1000 classes: all but the last layer, and that. */
static const long long trunk_parameters = 23508032, trunk_width = 2048;

static void close_run(struct task *t)
{
    struct resnet50_run *const r = t->context;

    if (r) {
        source_close(r->train);
        source_close(r->val);
    }
    free(r);
    t->context = NULL;
}

static void fact(struct resnet50_run *r, struct task *t, const char *key, const char *value)
{
    ASSERT(t->n_facts < MAX_FACTS);
    r->facts[t->n_facts++] = (struct safetensors_meta){key, value};
}

static void fact_number(struct resnet50_run *r, struct task *t, const char *key, long long value)
{
    char *const text = r->numbers[t->n_facts];

    snprintf(text, sizeof(r->numbers[0]), "%lld", value);
    fact(r, t, key, text);
}

static void add_facts(struct resnet50_run *r, struct task *t)
{
    t->facts = r->facts;
    fact(r, t, "workload", t->name);
    fact_number(r, t, "accumulate", r->s->train.accumulate);
    fact_number(r, t, "classes", r->own->classes);
    fact_number(r, t, "image_size", r->own->image_size);
    fact_number(r, t, "eval_resize", r->own->eval_resize);
    fact(r, t, "pixel_mean", r->own->pixel_mean);
    fact(r, t, "pixel_std", r->own->pixel_std);
    fact(
        r, t, "preprocess",
        "RGB; shorter side to eval_resize, bilinear with antialiasing; centre image_size; (pixel - "
        "pixel_mean) / pixel_std, pixels 0 to 255");
}

static int open_sources(struct resnet50_run *r, struct task *t)
{
    const struct data_settings *const d = &r->s->data;
    const struct label_demand demand = {(int)r->own->classes, (int)d->label_offset,
                                        d->on_bad == ON_BAD_FAIL};

    if (d->synthetic) {
        t->n_train = t->n_eval = (uint64_t)d->synthetic_samples;
        return 0;
    }
    if (!d->data_dir)
        return err(
            E_USAGE,
            "no data: give --data-dir DIR with train.rec and val.rec or folders train and val "
            "(stave prepare resnet50 --sample --to DIR makes a small set), or --synthetic");
    if (!r->s->only_evaluate)
        TRY(source_open_split(d->data_dir, "train", &r->train));
    TRY(source_open_split(d->data_dir, "val", &r->val));
    if (r->train) {
        TRY(source_same_classes(r->train, r->val));
        TRY(source_check_labels(r->train, demand));
    }
    TRY(source_check_labels(r->val, demand));
    t->sources[0] = r->train;
    t->sources[1] = r->val;
    t->n_train = r->train ? r->train->n_samples : 0;
    t->n_eval = r->val->n_samples;
    return 0;
}

static int open_run(const struct workload_settings *s, uint64_t seed, struct task *out)
{
    const struct resnet50_settings *const own = s->own;
    struct resnet50_run *const r = xcalloc(1, sizeof(*r));
    int rc;

    *r = (struct resnet50_run){.s = s, .own = own, .task = out, .seed = seed};
    *out =
        (struct task){.name = "resnet50",
                      .unit = "images",
                      .metric = &metric_top1,
                      .context = r,
                      .build = build,
                      .open = open_pipeline,
                      .log = log_settings,
                      .classes = (int)own->classes,
                      .parameters = trunk_parameters + (trunk_width + 1) * (long long)own->classes};
    add_facts(r, out);
    rc = read_norm(own, &r->norm);
    if (rc == 0 && own->eval_resize < own->image_size)
        rc = err(
            E_USAGE,
            "eval-resize %lld is smaller than image-size %lld; the centre to cut out would not fit",
            own->eval_resize, own->image_size);
    if (rc == 0)
        rc = open_sources(r, out);
    if (rc < 0)
        close_run(out);
    return rc;
}

/* The first 10,000 training images and all test images of Fashion-MNIST. The checksum is over
 * source pixels and labels, so a package that holds something else is noticed whatever JPEG library
 * wrote the records. */
static int prepare_sample(const struct workload_prepare *p, struct prepare_result *out)
{
    static const uint64_t content = 0x3606a6c8bc9bc977u;

    TRY(prepare_fashion_mnist(
        (struct prepare_fashion){
            .from = p->from, .to = p->to, .n_train = 10000, .progress = p->progress},
        out));
    if (!p->from && out->content_checksum != content)
        return err(
            E_DATA,
            "the sample data in %s has content checksum %016llx, expected %016llx: the package "
            "dataset-fashion-mnist holds something else than the sample target was set for",
            p->to, (unsigned long long)out->content_checksum, (unsigned long long)content);
    return 0;
}

static int prepare(const struct workload_prepare *p, struct prepare_result *out)
{
    if (p->sample)
        return prepare_sample(p, out);
    return p->like.name ? prepare_like(p->like, out) : workload_convert(p, out);
}

/* torchvision's resnet50: "layer1.0.conv1.bn.weight" is layer1.0.bn1.weight there, downsample is a
 * pair of modules. */
static int torchvision_name(const char *name, char *out, size_t n)
{
    static const char *const parts[][2] = {{"downsample.bn.", "downsample.1."},
                                           {"conv1.bn.", "bn1."},
                                           {"conv2.bn.", "bn2."},
                                           {"conv3.bn.", "bn3."},
                                           {"downsample.", "downsample.0."}};

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *const at = strstr(name, parts[i][0]);
        if (at)
            return snprintf(out, n, "%.*s%s%s", (int)(at - name), name, parts[i][1],
                            at + strlen(parts[i][0])) < (int)n;
    }
    return snprintf(out, n, "%s", name) < (int)n;
}

static const struct name_map torchvision = {
    .naming = "torchvision",
    .theirs = torchvision_name,
    .order4 = {0, 3, 1, 2}, /* O,KH,KW,I here, O,I,KH,KW there; both keep fc.weight as O,I */
    .counter = "num_batches_tracked",
    .beside = "running_var",
};

const struct workload workload_resnet50 = {
    .name = "resnet50",
    .help = "Image classification, ResNet-50 v1.5",
    .data = "ImageNet-1k as RecordIO, TFRecord, class folders or tar shards; sample: Fashion-MNIST "
            "(Debian package dataset-fashion-mnist)",
    .options = &options,
    .settings_bytes = sizeof(struct resnet50_settings),
    .presets = presets,
    .closed = closed,
    .ruleset = RULESET_PINNED,
    .benchmark = "resnet",
    .open = open_run,
    .close = close_run,
    .rules = rules,
    .prepare = prepare,
    .names = &torchvision,
    .borrow = borrow_resnet50,
};
