/* Network: bytes of the interfaces with hardware behind them (/proc/net/dev), or where there is
 * none to be seen, as in a container, of all but loopback. Bridges, bonds and virtual interfaces
 * would count the same bytes twice. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "meter/meter.h"
#include "meter/probe.h"

enum { MAX_REAL = 32, NAME_BYTES = 16, TEXT_BYTES = 1 << 16, FIELD_SENT = 8 };

struct network {
    const char *root;
    int dev;
    char real[MAX_REAL][NAME_BYTES];
    size_t n_real;
    struct probe_rate received, sent;
    char text[TEXT_BYTES];
};

static void look(void *context, const char *name)
{
    struct network *const p = context;
    char *const device = xasprintf("%s/sys/class/net/%s/device", p->root, name);
    const int is_real = access(device, F_OK) == 0;

    free(device);
    if (is_real && p->n_real < MAX_REAL && strlen(name) < NAME_BYTES)
        memcpy(p->real[p->n_real++], name, strlen(name) + 1);
}

static int network_open(void **state, const struct meter_place *place,
                        struct meter_columns *columns)
{
    struct network *const p = xcalloc(1, sizeof(*p));

    p->root = place->root;
    p->dev = probe_open(place->root, "/proc/net/dev");
    probe_folder(place->root, "/sys/class/net", look, p);
    if (p->dev >= 0) {
        meter_column(columns, METER_LEVEL, "net_receive_bytes_per_s");
        meter_column(columns, METER_LEVEL, "net_send_bytes_per_s");
    }
    *state = p;
    return 0;
}

static int counts(const struct network *p, const char *name, size_t n)
{
    for (size_t i = 0; i < p->n_real; i++)
        if (strlen(p->real[i]) == n && memcmp(p->real[i], name, n) == 0)
            return 1;
    return p->n_real == 0 && !(n == 2 && memcmp(name, "lo", n) == 0);
}

/* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes ..." */
static void add_line(const struct network *p, const char *line, double *received, double *sent)
{
    const char *const name = line + strspn(line, " "), *const colon = strchr(name, ':');
    const char *at;
    double v[FIELD_SENT + 1];

    if (!colon || !counts(p, name, (size_t)(colon - name)))
        return;
    at = colon + 1;
    for (int i = 0; i <= FIELD_SENT; i++)
        v[i] = probe_whole(&at);
    if (isnan(v[FIELD_SENT]))
        return;
    *received += v[0];
    *sent += v[FIELD_SENT];
}

static void network_sample(void *state, double seconds, double *values)
{
    struct network *const p = state;
    char *line = p->text, *end;
    double received = 0, sent = 0;
    int n = 0;

    probe_again(p->dev, p->text, sizeof(p->text));
    for (; (end = strchr(line, '\n')); line = end + 1, n++) {
        *end = '\0';
        if (n >= 2) /* behind the headings */
            add_line(p, line, &received, &sent);
    }
    values[0] = probe_rate(&p->received, n > 2 ? received : NAN, seconds);
    values[1] = probe_rate(&p->sent, n > 2 ? sent : NAN, seconds);
}

static void network_close(void *state)
{
    struct network *const p = state;

    probe_close(p->dev);
    free(p);
}

const struct probe_ops probe_network = {"network", network_open, network_sample, network_close,
                                        NULL};
