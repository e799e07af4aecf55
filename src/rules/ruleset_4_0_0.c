/* MLPerf Training round 4.0. */
#include "base/err.h"
#include "rules/rulesets.h"

/* Mean of the reference's runs without the best and the worst; floor by the one-sided t test of the
 * rules at 5 %. */
static const struct rule_point resnet_points[] = {
    {1632, 35.00, 33.80},  {3264, 35.15, 34.31},  {4096, 39.88, 38.63}, {8192, 41.88, 40.63},
    {13056, 45.50, 44.68}, {32768, 56.0, 55.45},  {49152, 68.0, 67.2},  {58880, 80.0, 79.0},
    {65536, 84.5, 83.36},  {67840, 85.85, 85.18},
};

static const struct rule_constraint resnet_constraints[] = {
    {"global_batch_size", RULE_POSITIVE, 0, 0, NULL, 0},
    {"gradient_accumulation_steps", RULE_POSITIVE, 0, 0, NULL, 0},
    {"target", RULE_AT_LEAST, 0.759, 0, NULL, 0},
    {"train_samples", RULE_EQUALS, 1281167, 0, NULL, 0},
    {"eval_samples", RULE_EQUALS, 50000, 0, NULL, 0},
    {"model_image_size", RULE_EQUALS, 224, 0, NULL, 0},
    {"model_classes", RULE_ONE_OF, 1000, 1001, NULL, 0},
    {"eval_every", RULE_EQUALS, 4, 0, NULL, 0},
    {"eval_offset", RULE_BETWEEN, 1, 4, NULL, 0},
    {"label_smoothing", RULE_ONE_OF, 0, 0.1, NULL, 0},
    {"opt_name", RULE_TEXT, 0, 0, "sgd|lars", 0},
};

static const struct rule_constraint resnet_lars[] = {
    {"lars_opt_base_learning_rate", RULE_POSITIVE, 0, 0, NULL, 0},
    {"lars_opt_end_learning_rate", RULE_EQUALS, 0.0001, 0, NULL, 0},
    {"lars_opt_learning_rate_decay_poly_power", RULE_EQUALS, 2, 0, NULL, 0},
    {"lars_opt_learning_rate_decay_steps", RULE_POSITIVE, 0, 0, NULL, 0},
    {"lars_epsilon", RULE_EQUALS, 0, 0, NULL, 0},
    {"lars_opt_learning_rate_warmup_epochs", RULE_NOT_NEGATIVE, 0, 0, NULL, 0},
    {"lars_opt_momentum", RULE_PRESENT, 0, 0, NULL, 0},
    {"lars_opt_momentum", RULE_EQUALS, 0.9, 0, NULL, 32768},
    {"lars_opt_weight_decay", RULE_POWER_OF_TWO, 0.0001, 0, NULL, 0},
};

static const struct rule_constraint resnet_sgd[] = {
    {"sgd_opt_base_learning_rate", RULE_MULTIPLE, 0.001, 0, NULL, 0},
    {"sgd_opt_end_learning_rate", RULE_EQUALS, 0.0001, 0, NULL, 0},
    {"sgd_opt_learning_rate_decay_poly_power", RULE_EQUALS, 2, 0, NULL, 0},
    {"sgd_opt_learning_rate_decay_steps", RULE_POSITIVE, 0, 0, NULL, 0},
    {"sgd_opt_weight_decay", RULE_POWER_OF_TWO, 0.0001, 0, NULL, 0},
    {"sgd_opt_momentum", RULE_EQUALS, 0.9, 0, NULL, 0},
    {"model_bn_span", RULE_POSITIVE, 0, 0, NULL, 0},
    {"opt_learning_rate_warmup_epochs", RULE_WHOLE, 0, 0, NULL, 0},
};

static const struct rule_optimizer resnet_optimizers[] = {
    {"lars", resnet_lars, COUNT_OF(resnet_lars)},
    {"sgd", resnet_sgd, COUNT_OF(resnet_sgd)},
};

static const struct rule_benchmark benchmarks[] = {
    {
        .name = "resnet",
        .metric = "top-1",
        .target = 0.759,
        .eval_every = 4,
        .n_runs = 5,
        .points = resnet_points,
        .n_points = COUNT_OF(resnet_points),
        .constraints = resnet_constraints,
        .n_constraints = COUNT_OF(resnet_constraints),
        .optimizers = resnet_optimizers,
        .n_optimizers = COUNT_OF(resnet_optimizers),
    },
};

static const char *const keys[] = {
    "submission_org",
    "submission_platform",
    "submission_division",
    "submission_status",
    "submission_benchmark",
    "cache_clear",
    "init_start",
    "init_stop",
    "run_start",
    "run_stop",
    "block_start",
    "block_stop",
    "eval_start",
    "eval_stop",
    "eval_accuracy",
    "train_samples",
    "eval_samples",
    NULL,
};

static const char *const closed_keys[] = {"gradient_accumulation_steps", "seed", NULL};

const struct ruleset ruleset_4_0_0 = {
    .version = "4.0.0",
    .keys = keys,
    .closed_keys = closed_keys,
    .benchmarks = benchmarks,
    .n_benchmarks = COUNT_OF(benchmarks),
};
