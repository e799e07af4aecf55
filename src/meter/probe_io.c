/* What this process reads and writes: /proc/self/io (proc_pid_io(5)). read_bytes and write_bytes
 * are what storage was asked for, rchar what calls of read() gave. */
#include <stdlib.h>

#include "base/err.h"
#include "meter/meter.h"
#include "meter/probe.h"

static const struct {
    const char *word, *column;
} numbers[] = {{"read_bytes:", "io_read_bytes"},
               {"write_bytes:", "io_write_bytes"},
               {"rchar:", "io_called_read_bytes"}};

struct io {
    int fd;
};

static int io_open(void **state, const struct meter_place *place, struct meter_columns *columns)
{
    struct io *const p = xcalloc(1, sizeof(*p));

    p->fd = probe_open(place->root, "/proc/self/io");
    for (size_t i = 0; p->fd >= 0 && i < COUNT_OF(numbers); i++)
        meter_column(columns, METER_TOTAL, numbers[i].column);
    *state = p;
    return 0;
}

static void io_sample(void *state, double seconds, double *values)
{
    const struct io *const p = state;
    char text[512];

    (void)seconds;
    probe_again(p->fd, text, sizeof(text));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        values[i] = probe_field(text, numbers[i].word);
}

static void io_close(void *state)
{
    struct io *const p = state;

    probe_close(p->fd);
    free(p);
}

const struct probe_ops probe_io = {"io", io_open, io_sample, io_close, NULL};
