/* The document around what a page shows: src/report/page/, put together at build by tools/page. */
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/err.h"
#include "base/file.h"
#include "report/report.h"
#include "report/text.h"

void page_release(struct page *p)
{
    str_release(&p->title);
    str_release(&p->body);
    str_release(&p->json);
    str_release(&p->blocks);
}

/* The text up to the mark, which must be there; returns what is behind it. */
static const char *add_until(struct str *out, const char *text, const char *mark)
{
    const char *const at = strstr(text, mark);

    ASSERT(at);
    str_add_bytes(out, text, (size_t)(at - text));
    return at + strlen(mark);
}

void page_add(const struct page *p, struct str *out)
{
    const struct embedded *const e = embedded_find("report.page");
    const char *at;

    ASSERT(e);
    at = add_until(out, e->text, "@title@");
    text_add(out, p->title.s);
    at = add_until(out, at, "@body@");
    str_add(out, p->body.s ? p->body.s : "");
    at = add_until(out, at, "@data@");
    text_add_script_json(out, p->json.s ? p->json.s : "{}");
    at = add_until(out, at, "@columns@");
    str_add(out, p->blocks.s ? p->blocks.s : "");
    str_add(out, at);
}

static int write_page(const struct page *p, const char *path)
{
    struct str out = STR_INIT;
    int rc;

    page_add(p, &out);
    rc = file_replace(path, out.s, out.len);
    str_release(&out);
    return rc;
}

static int has_file(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    const int there = file_exists(path);

    free(path);
    return there;
}

static int make_page(const char *dir, struct page *p)
{
    if (has_file(dir, "study.json"))
        return report_study(dir, p);
    return has_file(dir, "set.json") ? report_set(dir, p) : report_run(dir, p);
}

int report_write(const char *dir, char **path)
{
    char *const file = file_join(dir, "report.html");
    struct page p = {.title = STR_INIT};
    int rc = make_page(dir, &p);

    if (rc == 0)
        rc = write_page(&p, file);
    page_release(&p);
    if (rc == 0 && path)
        *path = file;
    else
        free(file);
    return rc;
}

int report_compare(const char *const *dirs, size_t n, const char *out)
{
    struct page p = {.title = STR_INIT};
    int rc = report_runs(dirs, n, &p);

    if (rc == 0)
        rc = write_page(&p, out);
    page_release(&p);
    return rc;
}
