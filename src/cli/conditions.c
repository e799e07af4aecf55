#include "cli/conditions.h"

#include "base/err.h"

/* clang-format off */
#define ROW(...) OPT_ROW(conditions_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("sample-rate", OPT_REAL, sample_rate, .dflt = "1", .min = 0, .max = 100, .arg = "HZ",
        .help = "How often a second processors, memory, disks, network and accelerators are measured, into samples.csv; 0: never"),
    ROW("warm", OPT_REAL, warm, .dflt = "2", .min = 0, .max = 86400, .arg = "S",
        .help = "Seconds of training that are warm-up: ingest and the ceiling of --cache begin behind them, mean figures leave them out"),
    ROW("memory", OPT_STRING, memory, .arg = "SIZE",
        .help = "Most memory that the run may use, page cache included, in a cgroup of its own; none: no ceiling"),
    ROW("cache", OPT_STRING, cache, .arg = "SIZE",
        .help = "Most memory beyond the anonymous memory measured at the end of warm-up, which is what is left for page cache: 2G, or "
                "25%-of-data; where no cgroup can be had, the data is read past the cache"),
    ROW("disk-limit", OPT_SIZE, disk_limit, .dflt = "0", .min = 0, .max = 1e15, .arg = "SIZE",
        .help = "Most bytes a second that the run reads from and writes to the disk, to imitate a slower one (cgroup); 0: no limit"),
    ROW("ingest", OPT_STRING, ingest, .arg = "SPEC",
        .help = "Run fio beside the training, to see what somebody else's writing costs: \"engine=sync jobs=4 bs=128k rate=1G size=50G dir=D\"; off: none"),
};
/* clang-format on */

const struct opt_table conditions_options = {"conditions", rows, COUNT_OF(rows)};
