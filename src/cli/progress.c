#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static const int64_t every_ns = 200000000;

static void add_time(double seconds, struct str *out)
{
    const long long s = (long long)(seconds + 0.5);

    if (s >= 3600)
        str_printf(out, "%lld h %lld min", s / 3600, s % 3600 / 60);
    else if (s >= 60)
        str_printf(out, "%lld min %lld s", s / 60, s % 60);
    else
        str_printf(out, "%lld s", s);
}

void progress_line(const struct prepare_step *s, double seconds, struct str *out)
{
    const double made = (double)(s->done - s->found);

    str_printf(out, "%s: %3.0f %%, %llu of %llu", s->what,
               s->total ? 100.0 * (double)s->done / (double)s->total : 100.0,
               (unsigned long long)s->done, (unsigned long long)s->total);
    if (seconds <= 0 || made <= 0)
        return;
    str_printf(out, ", %.0f samples/s", made / seconds);
    if (s->bytes)
        str_printf(out, ", %.1f MB/s", (double)s->bytes / seconds / 1e6);
    str_add(out, s->done < s->total ? ", " : ", took ");
    add_time(s->done < s->total ? (double)(s->total - s->done) * seconds / made : seconds, out);
    str_add(out, s->done < s->total ? " left" : "");
}

void progress_tell(void *context, const struct prepare_step *s)
{
    struct progress *const p = context;
    const int64_t now = clock_ns();
    struct str line = STR_INIT;

    if (!isatty(STDERR_FILENO))
        return;
    if (strncmp(p->what, s->what, sizeof(p->what) - 1) != 0 || p->began_ns == 0) {
        snprintf(p->what, sizeof(p->what), "%s", s->what);
        p->began_ns = now;
    }
    if (s->done < s->total && now - p->showed_ns < every_ns)
        return;
    p->showed_ns = now;
    progress_line(s, (double)(now - p->began_ns) / 1e9, &line);
    fprintf(stderr, "\r%s\033[K%s", line.s, s->done == s->total ? "\n" : "");
    str_release(&line);
}
