#include "cli/page.h"

#include <stdlib.h>

#include "base/err.h"
#include "report/report.h"

void page_write(const char *dir)
{
    char *path = NULL;

    if (report_write(dir, &path) < 0)
        warning("the page of %s is not written: %s; stave report %s does it", dir, err_reason(),
                dir);
    free(path);
}
