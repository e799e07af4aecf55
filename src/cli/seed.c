#include "cli/seed.h"

#include <sys/random.h>

#include "base/err.h"

int seed_draw(uint64_t *seed)
{
    if (getrandom(seed, sizeof(*seed), 0) != sizeof(*seed))
        return err(E_IO, "the system gives no random seed; pass --seed N");
    *seed = (*seed >> (64 - SEED_BITS)) | 1;
    return 0;
}
