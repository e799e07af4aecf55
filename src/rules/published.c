#include "rules/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/err.h"

/* The next line that is neither empty nor a comment, without its newline; 0 at the end. */
static int next_line(const char **at, char *line, size_t size)
{
    while (**at) {
        const size_t n = strcspn(*at, "\n");

        snprintf(line, size, "%.*s", (int)n, *at);
        *at += n + ((*at)[n] == '\n');
        if (n > 0 && line[0] != '#')
            return 1;
    }
    return 0;
}

static struct anchor read_anchor(const char *line)
{
    struct anchor a = {0};
    char accelerators[12], kind[8];

    if (sscanf(line, "%23s %7s %11s %lf %7s %95[^\n]", a.benchmark, a.round, accelerators,
               &a.minutes, kind, a.system) != 6)
        BUG("anchors.txt: \"%s\"", line);
    a.accelerators = strcmp(accelerators, "-") == 0 ? -1 : atoi(accelerators);
    a.scored = strcmp(kind, "scored") == 0;
    return a;
}

void published_anchors(const char *benchmark, void (*each)(void *context, const struct anchor *a),
                       void *context)
{
    const char *at = embedded_find("anchors.txt")->text;
    char line[256];

    while (next_line(&at, line, sizeof(line))) {
        const struct anchor a = read_anchor(line);

        if (!benchmark || strcmp(a.benchmark, benchmark) == 0)
            each(context, &a);
    }
}

double published_reference_minutes(const char *version, const char *benchmark)
{
    const char *at = embedded_find("reference_times.txt")->text;
    char line[256];

    while (next_line(&at, line, sizeof(line))) {
        char name[24], round[8];
        double seconds;

        if (sscanf(line, "%23s %7s %lf", name, round, &seconds) != 3)
            BUG("reference_times.txt: \"%s\"", line);
        if (strcmp(name, benchmark) == 0 && strncmp(version, round, strlen(round)) == 0)
            return seconds / 60;
    }
    return NAN;
}
