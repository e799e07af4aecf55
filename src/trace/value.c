#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "trace/trace.h"

struct trace_value trace_none(void)
{
    return (struct trace_value){.kind = TRACE_NONE};
}

struct trace_value trace_int(long long v)
{
    return (struct trace_value){.kind = TRACE_INT, .whole = v};
}

struct trace_value trace_real(double v)
{
    return (struct trace_value){.kind = TRACE_REAL, .real = v};
}

struct trace_value trace_bool(int v)
{
    return (struct trace_value){.kind = TRACE_BOOL, .whole = v};
}

struct trace_value trace_string(const char *s)
{
    return (struct trace_value){.kind = s ? TRACE_STRING : TRACE_NONE, .text = s};
}

struct trace_value trace_json(const char *text)
{
    return (struct trace_value){.kind = text ? TRACE_JSON : TRACE_NONE, .text = text};
}

/* The fewest digits that read back as the same double. A real stays recognisable as one (2.0), and
 * whole numbers are not put in exponents (1281167.0). */
static void add_real(struct str *out, double v)
{
    char text[40];

    if (v == floor(v) && fabs(v) < 1e15) {
        str_printf(out, "%.1f", v);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    str_add(out, text);
}

static void add_nonfinite(struct str *out, double v, enum trace_nonfinite how)
{
    const char *quote = how == TRACE_NONFINITE_QUOTED ? "\"" : "";

    str_printf(out, "%s%s%s", quote, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity", quote);
}

void trace_add_json(struct str *out, const struct trace_value *v, enum trace_nonfinite how)
{
    switch (v->kind) {
    case TRACE_NONE:
        str_add(out, "null");
        return;
    case TRACE_INT:
        str_printf(out, "%lld", v->whole);
        return;
    case TRACE_BOOL:
        str_add(out, v->whole ? "true" : "false");
        return;
    case TRACE_REAL:
        if (isfinite(v->real))
            add_real(out, v->real);
        else
            add_nonfinite(out, v->real, how);
        return;
    case TRACE_STRING:
        str_add_json(out, v->text);
        return;
    case TRACE_JSON:
        str_add(out, v->text);
        return;
    }
    BUG("no such kind of value: %d", (int)v->kind);
}
