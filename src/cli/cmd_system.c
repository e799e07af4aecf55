/* `stave system`: the machine in the words of MLPerf's system description. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command_line.h"
#include "cli/describe.h"
#include "meter/disk_path.h"

struct system_settings {
    char *to, *from;
    int json;
};

/* clang-format off */
#define ROW(...) OPT_ROW(system_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("to", OPT_STRING, to, .arg = "FILE",
        .help = "Write the description there; a file that is there is replaced only when --from names it, too"),
    ROW("from", OPT_STRING, from, .arg = "FILE", .help = "Keep what was filled in in this description"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print what was found as one JSON document; what is not known is absent"),
};
/* clang-format on */

static const struct opt_table options = {"system", rows, COUNT_OF(rows)};

static int is_filled(const char *value)
{
    return value && *value && strncmp(value, SYSTEM_FILL_IN, strlen(SYSTEM_FILL_IN)) != 0;
}

/* What stands in the file holds, also against the machine. */
static int keep_filled(struct system_desc *d, const char *from)
{
    struct system_desc old;

    TRY(system_desc_read(&old, from));
    for (int i = 0; i < SYSTEM_FIELDS; i++) {
        if (!is_filled(old.values[i]))
            continue;
        if (is_filled(d->values[i]) && strcmp(d->values[i], old.values[i]) != 0)
            warning("%s: %s says \"%s\" and is kept; this machine says \"%s\"",
                    system_fields[i].name, from, old.values[i], d->values[i]);
        system_desc_set(d, system_fields[i].name, old.values[i]);
    }
    system_desc_release(&old);
    return 0;
}

static int is_open_field(const struct system_desc *d, int i)
{
    return *system_fields[i].ask && !is_filled(d->values[i]);
}

static void print_open(const struct system_desc *d, FILE *out)
{
    int n = 0;

    for (int i = 0; i < SYSTEM_FIELDS; i++)
        if (is_open_field(d, i))
            fprintf(out, "%s%s", n++ ? ", " : "to fill in by hand: ", system_fields[i].name);
    fputs(n ? "\n" : "every field that must be filled is filled\n", out);
}

/* Where the bytes of a run in the current folder would lie. */
static void add_here(struct str *out)
{
    struct disk_path d;

    if (disk_path_find("", ".", &d) < 0)
        return;
    str_printf(out, "  this folder    %s\n", d.words);
    disk_path_release(&d);
}

static void print_text(const struct system_info *s, const struct system_desc *d)
{
    struct str more = STR_INIT;

    for (int i = 0; i < SYSTEM_FIELDS; i++) {
        const char *const v = d->values[i] ? d->values[i] : "";

        printf("%-34s %s%s\n", system_fields[i].name, is_open_field(d, i) ? SYSTEM_FILL_IN : v,
               is_open_field(d, i) ? system_fields[i].ask : "");
    }
    str_add(&more, "\nThe machine:\n");
    describe_more(s, &more);
    add_here(&more);
    str_add(&more, "\nSoftware:\n");
    describe_software(s, &more);
    printf("%s\n", more.s);
    print_open(d, stdout);
    str_release(&more);
}

static void print_json(const struct system_info *s, const struct system_desc *d)
{
    struct str out = STR_INIT;
    int n = 0;

    str_add(&out, "{\n  \"description\": {");
    for (int i = 0; i < SYSTEM_FIELDS; i++) {
        if (!is_filled(d->values[i]))
            continue;
        str_printf(&out, "%s\n    \"%s\": ", n++ ? "," : "", system_fields[i].name);
        str_add_json(&out, d->values[i]);
    }
    str_add(&out, "\n  },\n  \"fill_in\": [");
    n = 0;
    for (int i = 0; i < SYSTEM_FIELDS; i++)
        if (is_open_field(d, i))
            str_printf(&out, "%s\"%s\"", n++ ? ", " : "", system_fields[i].name);
    str_add(&out, "],\n  \"machine\": {\n");
    describe_json(s, &out);
    str_add(&out, "\n  }\n}\n");
    fputs(out.s, stdout);
    str_release(&out);
}

static int is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int write_file(const struct system_settings *own, const struct system_desc *d)
{
    struct str text = STR_INIT;
    int rc;

    if (file_exists(own->to) && !(own->from && is_same_file(own->to, own->from)))
        return err(E_USAGE,
                   "%s is there already, with what somebody filled in; add --from %s to keep that, "
                   "or choose another name",
                   own->to, own->to);
    system_desc_json(d, &text);
    rc = file_replace(own->to, text.s, text.len);
    str_release(&text);
    if (rc == 0 && !own->json) {
        printf("%s: written; ", own->to);
        print_open(d, stdout);
    }
    return rc;
}

static int describe(const struct system_settings *own)
{
    struct system_info s;
    struct system_desc d = {0};
    int rc = 0;

    system_read("", &s);
    describe_machine(&s, &d);
    if (own->from)
        rc = keep_filled(&d, own->from);
    if (rc == 0 && own->to)
        rc = write_file(own, &d);
    if (rc == 0 && own->json)
        print_json(&s, &d);
    else if (rc == 0 && !own->to)
        print_text(&s, &d);
    system_desc_release(&d);
    system_release(&s);
    return rc;
}

static int work(const struct command_line *line, const void *settings)
{
    const struct system_settings *const own = settings;

    (void)line;
    return describe(own);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct system_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_system = {
    .name = "system",
    .summary = "Describe this machine as an MLPerf submission wants it",
    .about =
        "Prints the 33 fields of a system description, filled from the kernel (/proc, /sys), from "
        "NVML where there is one, and from the program's own parts; then what no field has room "
        "for, and the software that was found or is missing. --to writes the description as the "
        "JSON file that `stave submit --system` takes: every field is there, and those that a "
        "person must fill hold \"FILL IN: ...\", which a submission refuses. Fill them in, and "
        "use --from to keep them when the file is made again.",
    .tables = tables,
    .run = run,
};
