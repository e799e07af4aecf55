/* leftovers.json of a killed supervisor: refused, or it names nothing but what a run makes, and
 * written and read again it is the same. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/leftovers.h"
#include "fuzz.h"

const char *const fuzz_words[] = {"\"boot\":",
                                  "\"supervisor\":",
                                  "\"run\":",
                                  "\"fio\":",
                                  "\"pid\":",
                                  "\"start_ticks\":",
                                  "\"path\":",
                                  "\"back\":",
                                  "\"off\":",
                                  "\"ingest_folder\":",
                                  "stave-1",
                                  "stave-1-rest",
                                  "/../",
                                  "/..",
                                  "stave-ingest-1",
                                  "1e999",
                                  "-1",
                                  NULL};

/* No step up, and a last name that begins with stave- and a digit, or ingest- between. */
static void check_name(const char *path, const char *start)
{
    const char *const name = strrchr(path, '/');

    ASSERT(path[0] == '/' && name && !strstr(path, "/../"));
    ASSERT(strncmp(name + 1, start, strlen(start)) == 0);
    ASSERT(strspn(name + 1 + strlen(start), "0123456789") > 0);
}

static void check_names(const struct leftovers *l)
{
    for (size_t i = 0; i < l->n_groups; i++)
        check_name(l->groups[i].path, "stave-");
    if (l->ingest_folder)
        check_name(l->ingest_folder, "stave-ingest-");
    ASSERT(l->fio.pid == 0 || l->fio.pid > 1);
}

static char *text_of(const struct leftovers *l)
{
    struct str out = STR_INIT;

    leftovers_add_json(l, &out);
    return str_detach(&out);
}

/* Bytes that are no UTF-8 are not the same the first time. */
static char *written_again(const char *text)
{
    struct leftovers l;
    char *again;

    ASSERT(leftovers_parse(text, strlen(text), &l) == 0);
    again = text_of(&l);
    leftovers_release(&l);
    return again;
}

static void check_again(const struct leftovers *l)
{
    char *const first = text_of(l);
    struct leftovers read;

    if (leftovers_parse(first, strlen(first), &read) == 0) {
        char *const second = text_of(&read), *const third = written_again(second);
        ASSERT(strcmp(second, third) == 0);
        free(second);
        free(third);
    }
    leftovers_release(&read);
    free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *const text = xmalloc(n + 1);
    struct leftovers l;
    int rc;

    memcpy(text, data, n);
    text[n] = '\0';
    rc = leftovers_parse(text, n, &l);
    if (rc < 0)
        fuzz_refused(rc);
    else {
        check_names(&l);
        check_again(&l);
    }
    leftovers_release(&l);
    free(text);
    return 0;
}

void fuzz_seeds(void)
{
    static const char seed[] =
        "{\"boot\": \"e0e1\", \"supervisor\": {\"pid\": 12, \"start_ticks\": \"99\"}, \"run\": "
        "{\"pid\": 11, \"start_ticks\": \"98\"}, \"fio\": {\"pid\": 13, \"start_ticks\": \"100\"}, "
        "\"groups\": [{\"path\": \"/sys/fs/cgroup/stave-11\", \"back\": \"/sys/fs/cgroup\", "
        "\"off\": \"memory io\"}, {\"path\": \"/sys/fs/cgroup/stave-11-rest\", \"back\": "
        "\"/sys/fs/cgroup/own\"}], "
        "\"ingest_folder\": \"/data/stave-ingest-12\"}";

    fuzz_seed(seed, strlen(seed));
}
