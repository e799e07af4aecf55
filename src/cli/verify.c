#include "cli/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/progress.h"

/* clang-format off */
#define ROW(...) OPT_ROW(verify_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("verify", OPT_STRING, dir, .arg = "DIR",
        .help = "Look at the data set DIR, or at one folder, .rec file or .tar archive: decode every sample, change nothing"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Tell what --verify found as one JSON document"),
    ROW("preset", OPT_STRING, preset, .arg = "NAME", .letter = 'p', .help = "The workload's preset whose classes and batches --verify assumes"),
    ROW("classes", OPT_INT, classes, .dflt = "0", .min = 0, .max = 1e6, .arg = "N", .help = "Labels must be below N for --verify; 0: the preset's number"),
    ROW("label-offset", OPT_INT, label_offset, .dflt = "0", .min = -1e6, .max = 1e6, .arg = "N", .help = "Added to every stored label by --verify"),
    ROW("num-threads", OPT_INT, num_threads, .dflt = "0", .min = 0, .max = 1024, .arg = "N", .letter = 'j',
        .help = "Threads of --verify; 0: as many as affinity and cgroup allow"),
    ROW("max-pixels", OPT_SIZE, max_pixels, .dflt = "200M", .min = 1, .max = 1e12, .arg = "N", .help = "Larger pictures are broken for --verify"),
};
/* clang-format on */

const struct opt_table verify_options = {"verify", rows, COUNT_OF(rows)};

/* What the preset says, or the default of the option. */
static long long preset_number(const struct workload *w, const struct preset *p, const char *name)
{
    const struct opt_table *const tables[] = {w->options, &train_options, &data_options};

    for (const char *const(*s)[2] = p->settings; (*s)[0]; s++)
        if (opt_same_name((*s)[0], name))
            return strtoll((*s)[1], NULL, 10);
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        const struct opt_row *const row = opt_find(tables[i], name);

        if (row && row->dflt)
            return strtoll(row->dflt, NULL, 10);
    }
    return 0;
}

static struct verify_run_shape run_shape(const struct workload *w, const struct preset *p, int cpus)
{
    const long long parts = preset_number(w, p, "accumulate");

    return (struct verify_run_shape){
        .batch = (uint64_t)(preset_number(w, p, "batch-size") / (parts > 0 ? parts : 1)),
        .prefetch = (uint64_t)preset_number(w, p, "prefetch"),
        .image_size = (uint64_t)preset_number(w, p, "image-size"),
        .n_threads = (uint64_t)cpus,
    };
}

uint64_t verify_wanted_bytes(const struct verify_report *r)
{
    const struct verify_memory need = verify_memory(r->v, r->run);
    uint64_t sum = need.ring + need.threads;

    for (int k = 0; k < r->v->n_splits; k++)
        sum += r->v->split[k].cache_bytes;
    return sum;
}

void verify_rows(const struct verify_split *s, struct verify_row out[VERIFY_ROWS])
{
    const struct verify_row all[VERIFY_ROWS] = {{"width", s->width},
                                                {"height", s->height},
                                                {"aspect", s->aspect},
                                                {"megapixels", s->megapixels},
                                                {"bytes", s->bytes}};

    memcpy(out, all, sizeof(all));
}

int verify_data(const struct workload *w, const struct verify_settings *s)
{
    const struct preset *const preset = preset_find(w, s->preset);
    struct cpus cpus;
    struct verify v;
    struct verify_report report = {.v = &v};
    struct progress progress = {0};
    int n_cpus, code;

    if (!preset)
        return err(E_USAGE, "%s has no preset %s; stave list shows them", w->name, s->preset);
    n_cpus = cpus_find("", &cpus) == 0 ? cpus.count : 1;
    report.run = run_shape(w, preset, n_cpus);
    memlimit_find("", &report.memory);
    TRY(verify_run(
        &(struct verify_config){
            .dir = s->dir,
            .n_threads = s->num_threads > 0 ? (int)s->num_threads : n_cpus,
            .n_classes = (int)(s->classes > 0 ? s->classes : preset_number(w, preset, "classes")),
            .label_offset = (int)s->label_offset,
            .max_pixels = s->max_pixels,
            .progress = {progress_tell, &progress},
        },
        &v));
    if (s->json)
        verify_print_json(&report);
    else
        verify_print_text(&report);
    code = verify_findings(&v) > 0 ? EXIT_UNTRUSTWORTHY : EXIT_REACHED;
    verify_release(&v);
    return code;
}
