#include "rules/findings.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/err.h"

static const char *const names[FINDING_LEVELS] = {
    [FINDING_NOTE] = "note", [FINDING_STRICT] = "stricter", [FINDING_ERROR] = "error"};

void finding_add(struct findings *f, enum finding_level level, const char *where, const char *fmt,
                 ...)
{
    struct str text = STR_INIT;
    va_list args;

    va_start(args, fmt);
    str_vprintf(&text, fmt, args);
    va_end(args);
    if (f->n == f->room) {
        f->room = f->room ? 2 * f->room : 16;
        f->all = xrealloc(f->all, f->room * sizeof(*f->all));
    }
    f->all[f->n++] = (struct finding){level, xstrdup(where), str_detach(&text)};
    f->count[level]++;
}

void findings_text(const struct findings *f, struct str *out)
{
    for (size_t i = 0; i < f->n; i++) {
        str_printf(out, "%s: ", names[f->all[i].level]);
        str_add_printable(out, f->all[i].where);
        str_add(out, *f->all[i].where ? ": " : "");
        str_add_printable(out, f->all[i].text);
        str_add(out, "\n");
    }
}

void findings_json(const struct findings *f, struct str *out)
{
    str_add(out, "[");
    for (size_t i = 0; i < f->n; i++) {
        str_printf(out, "%s\n    {\"level\": \"%s\", \"where\": ", i ? "," : "",
                   names[f->all[i].level]);
        str_add_json(out, f->all[i].where);
        str_add(out, ", \"text\": ");
        str_add_json(out, f->all[i].text);
        str_add(out, "}");
    }
    str_add(out, f->n ? "\n  ]" : "]");
}

void findings_release(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->all[i].where);
        free(f->all[i].text);
    }
    free(f->all);
    *f = (struct findings){0};
}
