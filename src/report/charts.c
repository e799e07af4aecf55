#include "report/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/barrel.h"
#include "report/text.h"

/* The tables of a run, in the order in which a page has them. */
enum run_table { TABLE_STEPS, TABLE_EVALUATIONS, TABLE_SAMPLES, TABLE_INGEST, N_RUN_TABLES };

enum { CHART_COLUMNS = 8 };

/* A chart and what it draws. A chart without one of its columns in any run is not there. axis:
 * "learning" charts may be drawn over samples as well as over time. */
static const struct chart {
    const char *id, *axis, *title, *unit;
    enum run_table table;
    const char *columns[CHART_COLUMNS]; /* NULL-terminated */
    const char *note;
} charts[] = {
    {"quality", "learning", "Accuracy", "ratio", TABLE_EVALUATIONS, {"quality"}, ""},
    {"loss", "learning", "Loss", "", TABLE_STEPS, {"loss"}, ""},
    {"throughput", "learning", "Throughput", "samples/s", TABLE_STEPS, {"samples_per_s"}, ""},
    {"wait",
     "learning",
     "Waiting for data",
     "ratio",
     TABLE_STEPS,
     {"data_wait_ratio"},
     "share of the training time"},
    {"rate", "learning", "Learning rate", "", TABLE_STEPS, {"learning_rate"}, ""},
    {"cpu",
     "time",
     "Processors",
     "%",
     TABLE_SAMPLES,
     {"cpu_process_percent", "cpu_machine_percent", "cpu_user_percent", "cpu_system_percent",
      "cpu_iowait_percent", "cpu_steal_percent", "cpu_throttled_percent"},
     "100 % is one processor"},
    {"memory",
     "time",
     "Memory",
     "B",
     TABLE_SAMPLES,
     {"process_rss_bytes", "memory_anon_bytes", "memory_file_bytes", "memory_shmem_bytes",
      "memory_limit_bytes"},
     ""},
    {"resident",
     "time",
     "Data set in the page cache",
     "%",
     TABLE_SAMPLES,
     {"data_resident_percent"},
     ""},
    {"data",
     "time",
     "Data: asked for and delivered",
     "B/s",
     TABLE_SAMPLES,
     {"loader_asked_bytes", "io_called_read_bytes", "io_read_bytes", "disk_read_bytes"},
     "what is asked for and not delivered by storage came from memory"},
    {"disk",
     "time",
     "Disk",
     "B/s",
     TABLE_SAMPLES,
     {"disk_read_bytes_per_s", "disk_write_bytes_per_s", "store_read_bytes_per_s",
      "store_write_bytes_per_s"},
     ""},
    {"disk-requests",
     "time",
     "Disk requests",
     "per s",
     TABLE_SAMPLES,
     {"disk_reads_per_s", "disk_writes_per_s", "store_reads_per_s", "store_writes_per_s"},
     ""},
    {"disk-latency",
     "time",
     "Disk latency",
     "ms",
     TABLE_SAMPLES,
     {"disk_read_await_ms", "disk_write_await_ms", "store_read_await_ms", "store_write_await_ms"},
     "mean of the requests of the interval"},
    {"disk-queue",
     "time",
     "Disk queue",
     "",
     TABLE_SAMPLES,
     {"disk_queue", "store_queue"},
     "requests under way"},
    {"disk-busy",
     "time",
     "Disk busy",
     "%",
     TABLE_SAMPLES,
     {"disk_busy_percent", "store_busy_percent"},
     ""},
    {"written", "time", "Written by this process", "B/s", TABLE_SAMPLES, {"io_write_bytes"}, ""},
    {"network",
     "time",
     "Network",
     "B/s",
     TABLE_SAMPLES,
     {"net_receive_bytes_per_s", "net_send_bytes_per_s"},
     ""},
    {"pressure",
     "time",
     "Pressure",
     "%",
     TABLE_SAMPLES,
     {"pressure_cpu_percent", "pressure_memory_percent", "pressure_io_percent"},
     "share of the time that some task waited"},
    {"gpu-use",
     "time",
     "Accelerator %d: use",
     "%",
     TABLE_SAMPLES,
     {"gpu%d_sm_percent", "gpu%d_memory_controller_percent", "gpu%d_decoder_percent",
      "gpu%d_jpeg_percent", "gpu%d_throttled_percent"},
     ""},
    {"gpu-memory",
     "time",
     "Accelerator %d: memory",
     "B",
     TABLE_SAMPLES,
     {"gpu%d_memory_used_bytes"},
     ""},
    {"gpu-power", "time", "Accelerator %d: power", "W", TABLE_SAMPLES, {"gpu%d_power_w"}, ""},
    {"gpu-clock", "time", "Accelerator %d: clock", "MHz", TABLE_SAMPLES, {"gpu%d_sm_mhz"}, ""},
    {"gpu-links",
     "time",
     "Accelerator %d: links",
     "B/s",
     TABLE_SAMPLES,
     {"gpu%d_pcie_receive_bytes_per_s", "gpu%d_pcie_send_bytes_per_s",
      "gpu%d_nvlink_receive_bytes_per_s", "gpu%d_nvlink_send_bytes_per_s"},
     ""},
    {"ingest",
     "time",
     "Ingest: written beside the training",
     "B/s",
     TABLE_INGEST,
     {"ingest_write_bytes_per_s"},
     ""},
    {"ingest-latency",
     "time",
     "Ingest: latency of a write",
     "ms",
     TABLE_INGEST,
     {"ingest_latency_mean_ms", "ingest_latency_max_ms"},
     ""},
};

static const struct {
    const char *column, *label;
} labels[] = {
    {"quality", "accuracy"},
    {"samples_per_s", "throughput"},
    {"data_wait_ratio", "waiting"},
    {"cpu_process_percent", "this process"},
    {"cpu_machine_percent", "whole machine"},
    {"cpu_user_percent", "user"},
    {"cpu_system_percent", "system"},
    {"cpu_iowait_percent", "waiting for I/O"},
    {"cpu_steal_percent", "stolen"},
    {"cpu_throttled_percent", "throttled by quota"},
    {"memory_anon_bytes", "anonymous"},
    {"memory_file_bytes", "page cache"},
    {"memory_shmem_bytes", "shared"},
    {"memory_limit_bytes", "limit"},
    {"process_rss_bytes", "this process"},
    {"data_resident_percent", "resident"},
    {"loader_asked_bytes", "asked for by the loader"},
    {"io_called_read_bytes", "read calls"},
    {"io_read_bytes", "delivered to this process"},
    {"io_write_bytes", "written"},
    {"disk_read_bytes", "delivered by the device"},
    {"disk_read_bytes_per_s", "reads"},
    {"disk_write_bytes_per_s", "writes"},
    {"store_read_bytes_per_s", "reads, run folder's disk"},
    {"store_write_bytes_per_s", "writes, run folder's disk"},
    {"disk_reads_per_s", "reads"},
    {"disk_writes_per_s", "writes"},
    {"disk_read_await_ms", "reads"},
    {"disk_write_await_ms", "writes"},
    {"disk_busy_percent", "busy"},
    {"disk_queue", "queue"},
    {"net_receive_bytes_per_s", "received"},
    {"net_send_bytes_per_s", "sent"},
    {"pressure_cpu_percent", "processors"},
    {"pressure_memory_percent", "memory"},
    {"pressure_io_percent", "I/O"},
    {"ingest_write_bytes_per_s", "written"},
    {"ingest_latency_mean_ms", "mean"},
    {"ingest_latency_max_ms", "longest"},
};

static const char *behind_gpu(const char *column)
{
    int n, end = 0;

    return sscanf(column, "gpu%d_%n", &n, &end) == 1 && end > 0 ? column + end : column;
}

void charts_add_label(struct str *out, const char *column)
{
    const char *unit;

    for (size_t i = 0; i < COUNT_OF(labels); i++)
        if (strcmp(column, labels[i].column) == 0) {
            str_add(out, labels[i].label);
            return;
        }
    text_add_label(out, behind_gpu(column), &unit);
}

/* ---- what the runs have ---- */

static const struct table *table_of(const struct folder *f, enum run_table t)
{
    const struct table *const tables[] = {[TABLE_STEPS] = &f->steps,
                                          [TABLE_EVALUATIONS] = &f->evaluations,
                                          [TABLE_SAMPLES] = &f->samples,
                                          [TABLE_INGEST] = &f->ingest};

    return tables[t];
}

/* The column is there and holds a number. */
static int has_numbers(const struct table *t, const char *column)
{
    const double *const v = table_find(t, column);

    for (size_t i = 0; v && i < t->n_rows; i++)
        if (isfinite(v[i]))
            return 1;
    return 0;
}

struct making {
    const struct folder *runs;
    size_t n_runs;
    struct str *json;
    struct str series; /* of the chart at hand */
};

static void add_series(struct making *m, size_t run, enum run_table table, const char *column)
{
    struct str label = STR_INIT;

    if (!has_numbers(table_of(&m->runs[run], table), column))
        return;
    charts_add_label(&label, column);
    str_printf(&m->series,
               "%s{\"run\": %zu, \"table\": %zu, \"column\": ", m->series.len ? ", " : "", run,
               run * N_RUN_TABLES + table);
    str_add_json(&m->series, column);
    str_add(&m->series, ", \"label\": ");
    str_add_json(&m->series, label.s);
    str_printf(&m->series, ", \"total\": %s}", samples_is_total(column) ? "true" : "false");
    str_release(&label);
}

static void put_chart(struct making *m, const struct chart *c, const char *id, const char *title)
{
    const char *const unit = strcmp(c->unit, "samples/s") == 0 ? NULL : c->unit;

    if (m->series.len == 0)
        return;
    str_printf(m->json, "%s\n{\"id\": ", m->json->s[m->json->len - 1] == '[' ? "" : ",");
    str_add_json(m->json, id);
    str_printf(m->json, ", \"axis\": \"%s\", \"title\": ", c->axis);
    str_add_json(m->json, title);
    str_add(m->json, ", \"unit\": ");
    if (unit)
        str_add_json(m->json, unit);
    else {
        char *const words = xasprintf("%s/s", barrel_unit(&m->runs[0]));
        str_add_json(m->json, words);
        free(words);
    }
    str_add(m->json, ", \"note\": ");
    str_add_json(m->json, c->note);
    str_printf(m->json, ", \"series\": [%s]}", m->series.s);
    str_reset(&m->series);
}

/* "gpu%d_power_w" with a number in it; what has none is as it is. */
static char *with_number(const char *pattern, int n)
{
    const char *const at = strstr(pattern, "%d");

    return at ? xasprintf("%.*s%d%s", (int)(at - pattern), pattern, n, at + 2) : xstrdup(pattern);
}

static void add_chart(struct making *m, const struct chart *c, int device)
{
    char *const title = with_number(c->title, device + 1);
    char *const id = strstr(c->title, "%d") ? xasprintf("%s-%d", c->id, device) : xstrdup(c->id);

    for (size_t i = 0; i < CHART_COLUMNS && c->columns[i]; i++) {
        char *const column = with_number(c->columns[i], device);

        for (size_t run = 0; run < m->n_runs; run++)
            add_series(m, run, c->table, column);
        free(column);
    }
    put_chart(m, c, id, title);
    free(title);
    free(id);
}

/* ---- columns that no chart above knows ---- */

static int is_meant(const char *column, const char *pattern)
{
    static const char device[] = "gpu%d_";
    const size_t n = strlen(device);

    if (strncmp(pattern, device, n) != 0)
        return strcmp(column, pattern) == 0;
    return behind_gpu(column) != column && strcmp(behind_gpu(column), pattern + n) == 0;
}

static int is_known(const char *column)
{
    static const char *const keys[] = {"time_ms", "elapsed_s", "phase", "epoch", "seconds"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(column, keys[i]) == 0)
            return 1;
    for (size_t i = 0; i < COUNT_OF(charts); i++)
        for (size_t k = 0; k < CHART_COLUMNS && charts[i].columns[k]; k++)
            if (is_meant(column, charts[i].columns[k]))
                return 1;
    return samples_is_total(column);
}

static void add_unknown(struct making *m, const char *column)
{
    const char *unit;
    struct str title = STR_INIT;
    char *const id = xasprintf("other-%s", column);

    text_add_label(&title, column, &unit);
    for (size_t run = 0; run < m->n_runs; run++)
        add_series(m, run, TABLE_SAMPLES, column);
    put_chart(m, &(const struct chart){.axis = "time", .unit = unit, .note = ""}, id, title.s);
    str_release(&title);
    free(id);
}

static int was_before(const struct making *m, size_t run, const char *column)
{
    for (size_t i = 0; i < run; i++)
        if (table_find(&m->runs[i].samples, column))
            return 1;
    return 0;
}

static void add_charts(struct making *m)
{
    enum { MOST_DEVICES = 64 };

    for (size_t i = 0; i < COUNT_OF(charts); i++)
        for (int d = 0; d < (strstr(charts[i].title, "%d") ? MOST_DEVICES : 1); d++)
            add_chart(m, &charts[i], d);
    for (size_t run = 0; run < m->n_runs; run++)
        for (size_t i = 0; i < m->runs[run].samples.n_columns; i++) {
            const char *const column = m->runs[run].samples.columns[i].name;

            if (!is_known(column) && !was_before(m, run, column))
                add_unknown(m, column);
        }
}

/* ---- the rest ---- */

static void add_spans(const struct making *m)
{
    static const char *const kinds[] = {[SPAN_EPOCH] = "epoch",
                                        [SPAN_EVALUATION] = "evaluation",
                                        [SPAN_INGEST] = "ingest",
                                        [SPAN_INIT] = "init"};
    const char *comma = "";

    for (size_t run = 0; run < m->n_runs; run++)
        for (size_t i = 0; i < m->runs[run].n_spans; i++) {
            const struct span *const s = &m->runs[run].spans[i];

            if (!isfinite(s->from) || !isfinite(s->to))
                continue;
            str_printf(m->json,
                       "%s{\"run\": %zu, \"kind\": \"%s\", \"from\": %.3f, \"to\": %.3f, "
                       "\"number\": %lld}",
                       comma, run, kinds[s->kind], s->from, s->to, s->number);
            comma = ", ";
        }
}

void charts_add(const struct folder *runs, size_t n_runs, struct str *json, struct str *blocks)
{
    struct making m = {.runs = runs, .n_runs = n_runs, .json = json};
    int next_id = 0;

    json_add_key(json, "runs");
    str_add(json, "[");
    for (size_t i = 0; i < n_runs; i++) {
        str_add(json, i ? ", " : "");
        str_add_json(json, runs[i].name);
    }
    str_add(json, "]");
    json_add_key(json, "tables");
    str_add(json, "[");
    for (size_t i = 0; i < n_runs * N_RUN_TABLES; i++) {
        str_add(json, i ? ",\n" : "");
        table_pack(table_of(&runs[i / N_RUN_TABLES], (enum run_table)(i % N_RUN_TABLES)), json,
                   blocks, &next_id);
    }
    str_add(json, "]");
    json_add_key(json, "charts");
    str_add(json, "[");
    add_charts(&m);
    str_add(json, "]");
    json_add_key(json, "spans");
    str_add(json, "[");
    add_spans(&m);
    str_add(json, "]");
    str_release(&m.series);
}
