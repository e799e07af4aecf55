/* A submission as MLPerf lays it out, held against the verdict of the official package checker:
 *
 *     ORG/systems/SYSTEM.json
 *     ORG/results/SYSTEM/BENCHMARK/result_N.txt      as many as the benchmark asks for
 *     ORG/benchmarks/BENCHMARK/...                   what reproduces them
 *
 * and against what that checker does not look at, which is FINDING_STRICT. Each way in which ours
 * is stricter, or other, is listed in docs/submission.md. Reads, never writes. */
#ifndef STAVE_RULES_PACKAGE_H
#define STAVE_RULES_PACKAGE_H

#include <stddef.h>

#include "rules/findings.h"
#include "rules/rcp.h"
#include "rules/system_desc.h"

struct package_options {
    const char *ruleset; /* "4.0.0" */
    /* The official checker's --rcp-bypass, --seed-checker-bypass, --rcp-bert-train-samples. */
    int rcp_bypass, seed_bypass, bert_train_samples;
};

/* The logs that make one result. Nothing is owned. */
struct package_result {
    const char *where;     /* named in findings: the folder of the logs */
    const char *benchmark; /* that the folder stands for */
    const char *const *logs;
    size_t n_logs;
    const char *system_path; /* named in findings, too */
    const struct system_desc *system;
    struct package_options options;
};

struct package_outcome {
    size_t n_refused;    /* logs that the compliance check refuses */
    struct rcp_test rcp; /* kind RCP_NONE when it was not asked for */
};

/* Number of logs, each log, seeds, reference convergence, and whether logs and description agree.
 * E_IO, E_USAGE for a ruleset that is not known; what is wrong with the logs is a finding. */
int package_check_result(const struct package_result *r, struct findings *f,
                         struct package_outcome *out);

struct package_count {
    size_t systems, results, logs;
};
/* A whole tree: dir is ORG. */
int package_check(const char *dir, const struct package_options *o, struct findings *f,
                  struct package_count *n);

/* A name that MLPerf's repositories take: no blank, no dot in front, nothing but letters, digits
 * and "-_.+,=@". Adds a finding when it is not. */
void package_check_name(const char *name, const char *where, struct findings *f);

/* The smallest size, in bytes, of a file that MLPerf's repositories refuse. */
enum { PACKAGE_MAX_FILE = 50 << 20 };

#endif
