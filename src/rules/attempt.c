#include "rules/attempt.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"

static const char *const words[] = {
    [ATTEMPT_INTERRUPTED] = ".interrupted-",
    [ATTEMPT_FAILED] = ".failed-",
};

char *attempt_name(const char *run, enum attempt what, int number)
{
    return xasprintf("%s%s%d", run, words[what], number);
}

int attempt_is_name(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const char *const at = strstr(name, words[i]);
        const char *const digits = at ? at + strlen(words[i]) : NULL;
        if (at && *digits && digits[strspn(digits, "0123456789")] == '\0')
            return 1;
    }
    return 0;
}
