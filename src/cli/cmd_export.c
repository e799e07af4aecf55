/* `stave export`: the weights of a run under the names of the model people already have. */
#include <stdio.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command_line.h"
#include "cli/run_folder.h"
#include "train/weights.h"
#include "workloads/workload.h"

struct export_settings {
    char *to;
};

/* clang-format off */
#define ROW(...) OPT_ROW(export_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("to", OPT_STRING, to, .arg = "FILE", .help = "The safetensors file to write; one that is there is replaced"),
};
/* clang-format on */

static const struct opt_table options = {"export", rows, COUNT_OF(rows)};

static int export_checkpoint(const struct checkpoint *c, const char *to)
{
    const char *const name = safetensors_meta(c->file, "workload");
    const struct workload *const w = name ? workload_find(name) : NULL;

    if (!w)
        return err(E_DATA, "%s: its metadata names no workload of this program", c->file->path);
    TRY(weights_export(c, w->names, to));
    printf("%s: the weights of step %lld under the names of %s\n", to, c->info.step,
           w->names->naming);
    return 0;
}

static int export_path(const char *from, const char *to)
{
    struct checkpoint c;
    int rc;

    if (!to)
        return err(E_USAGE, "give --to FILE, the file to write");
    TRY(run_folder_check_target(to, from));
    TRY(file_is_folder(from) ? checkpoint_open(&c, from) : checkpoint_open_file(&c, from));
    rc = export_checkpoint(&c, to);
    checkpoint_close(&c);
    return rc;
}

static int work(const struct command_line *line, const void *settings)
{
    const struct export_settings *const own = settings;

    return export_path(line->args[0], own->to);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct export_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_export = {
    .name = "export",
    .args = "RUN",
    .min_args = 1,
    .max_args = 1,
    .summary = "Write the weights of a run under the names of torchvision",
    .about =
        "RUN is a run folder, of which the newest checkpoint is taken, or a checkpoint. The file "
        "loads into torchvision.models.resnet50(num_classes=N) with strict=True: names, order of "
        "dimensions and num_batches_tracked are torchvision's; the state of the optimiser is not "
        "in it. Its metadata says what the images must look like for the same top-1: image_size, "
        "eval_resize, pixel_mean and pixel_std (of pixels 0 to 255), classes. `stave run --init` "
        "takes the file back.",
    .tables = tables,
    .run = run,
};
