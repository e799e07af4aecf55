#include "base/json.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/err.h"

static void use_xmalloc(void)
{
    cJSON_Hooks hooks = {.malloc_fn = xmalloc, .free_fn = free};

    cJSON_InitHooks(&hooks);
}

cJSON *json_parse(const char *text, size_t n, const char **end)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, use_xmalloc);
    return cJSON_ParseWithLengthOpts(text, n + 1, end, 0);
}
