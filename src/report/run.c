/* The page of one run. */
#include "base/err.h"
#include "report/barrel.h"
#include "report/charts.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/text.h"

void report_add_charts(const struct folder *runs, size_t n, struct page *p)
{
    str_add(&p->json, "{\"kind\": \"run\"");
    charts_add(runs, n, &p->json, &p->blocks);
    str_add(&p->json, "}");
    section_begin(&p->body, "curves", "Over time");
    str_add(&p->body, "<noscript><p class=\"quiet\">The charts need JavaScript; the tables do not."
                      "</p></noscript><div id=\"charts\"></div>\n");
    section_end(&p->body);
}

static void add_body(const struct folder *f, struct page *p)
{
    struct summary s;
    struct barrel b;

    barrel_find(f, &b);
    summary_find(f, &s);
    section_add_head(f, &s, &b, &p->body);
    section_begin(&p->body, "staves", "The staves");
    barrel_add(&b, &p->body);
    section_end(&p->body);
    report_add_charts(f, 1, p);
    section_add_epochs(f, &p->body);
    section_add_phases(f, &p->body);
    section_add_conditions(f, &p->body);
    section_add_warnings(f, &p->body);
    section_add_machine(f, &p->body);
    section_add_options(f, &p->body);
    barrel_release(&b);
}

int report_run(const char *dir, struct page *p)
{
    struct folder f;

    TRY(folder_read(&f, dir));
    str_printf(&p->title, "%s", f.name);
    add_body(&f, p);
    folder_release(&f);
    return 0;
}
