/* run.json as a resumed run reads it. */
#include <string.h>

#include "base/err.h"
#include "cli/run_folder.h"
#include "fuzz.h"

const char *const fuzz_words[] = {
    "\"seed\":", "{",    "}",    "[",      "]",       ",",
    "1e999",     "null", "true", "-0",     "1.5",     "9007199254740992",
    "\\u0000",   "\\ud", "[[[[", "\"seed", "{\"a\":", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint64_t seed = 0;
    int rc;

    fuzz_put("run.json", data, n);
    rc = run_folder_read_seed(fuzz_dir(), &seed);
    if (rc < 0)
        fuzz_refused(rc);
    else
        ASSERT(seed < UINT64_C(1) << 53);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        "{\n  \"stave_version\": \"0.1.0\",\n  \"seed\": 42,\n  \"options\": {\"run\": {}}\n}\n",
        "{\"seed\": 9007199254740991}",
        "{\"seed\": \"7\", \"rules\": [1, 2.5e3, null, true, \"a\\u00e9\\n\"]}",
    };

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
