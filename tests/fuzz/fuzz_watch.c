/* A run folder whose files hold anything, looked at twice, more having been written in between:
 * what is drawn can not steer a terminal, and fits its window. The first byte says where the files
 * part: events before, samples behind. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/watch.h"
#include "fuzz.h"

const char *const fuzz_words[] = {"\"key\": \"step\"",
                                  "\"key\": \"run_stop\"",
                                  "\"key\": \"init_start\"",
                                  "\"key\": \"eval_accuracy\"",
                                  "\"type\": \"point\"",
                                  "\"status\": ",
                                  "\"steps_total\": ",
                                  "\"NaN\"",
                                  "1e308",
                                  "cpu_process_percent",
                                  "disk_read_bytes_per_s",
                                  "time_ms,elapsed_s,phase,epoch",
                                  "\\u001b[2J",
                                  "\n",
                                  NULL};

static void check_view(const struct watch *w, struct live_space space)
{
    struct str out = STR_INIT;
    int lines = 0;

    watch_draw(w, &space, &out);
    for (const char *p = out.s; *p; p++) {
        ASSERT((unsigned char)*p >= 0x20 || *p == '\n');
        ASSERT(*p != 0x7F);
        lines += *p == '\n';
    }
    ASSERT(lines <= space.rows);
    str_release(&out);
}

/* The file as far as a part of it has been written. */
static void put(const char *name, const uint8_t *bytes, size_t n)
{
    fuzz_put(name, bytes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const size_t at = n ? (size_t)data[0] * (n - 1) / 255 : 0;
    const uint8_t *const events = data + (n ? 1 : 0), *const samples = events + at;
    const size_t n_samples = n ? n - 1 - at : 0;
    struct watch w;

    watch_open(&w, fuzz_dir());
    put("events.jsonl", events, at / 2);
    put("samples.csv", samples, n_samples / 2);
    watch_read(&w, WATCH_AT_ONCE);
    check_view(&w, (struct live_space){.columns = 20, .rows = 6, .is_ascii = 1});
    put("events.jsonl", events, at);
    put("samples.csv", samples, n_samples);
    watch_read(&w, WATCH_AT_ONCE);
    check_view(&w, (struct live_space){.columns = 100, .rows = 40});
    watch_exit_code(&w);
    watch_release(&w);
    return 0;
}

void fuzz_seeds(void)
{
    static const char seed[] =
        "\xC8{\"time_ms\": 1700000000000, \"elapsed_ns\": 0, \"type\": \"start\", \"key\": "
        "\"init_start\", \"file\": \"a.c\", \"lineno\": 1}\n"
        "{\"time_ms\": 1700000000000, \"elapsed_ns\": 5, \"type\": \"start\", \"key\": "
        "\"run_start\"}\n"
        "{\"time_ms\": 1700000003000, \"elapsed_ns\": 3000000000, \"type\": \"point\", \"key\": "
        "\"step\", \"epoch_num\": 1, \"step_num\": 5, \"steps_total\": 10, \"samples_per_s\": 50, "
        "\"samples_per_s_spread_ratio\": 0.1, \"loss\": 2.5, \"data_wait_ratio\": 0.5, \"eta_s\": "
        "4}\n"
        "{\"time_ms\": 1700000004000, \"elapsed_ns\": 4000000000, \"type\": \"point\", \"key\": "
        "\"eval_accuracy\", \"value\": 0.75, \"epoch_num\": 1}\n"
        "{\"time_ms\": 1700000005000, \"elapsed_ns\": 5000000000, \"type\": \"end\", \"key\": "
        "\"run_stop\", \"status\": \"success\"}\n"
        "time_ms,elapsed_s,phase,epoch,cpu_process_percent,memory_anon_bytes,gpu0_sm_percent\n"
        "1700000001000,1.000,train,1,150.0,1000,5\n1700000002000,2.000,train,1,150.0,,\n";

    fuzz_seed(seed, sizeof(seed) - 1);
}
