/* IDX files, plain and gzipped. The first byte says how many dimensions are expected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/err.h"
#include "data/bytes.h"
#include "data/idx.h"
#include "fuzz.h"

const char *const fuzz_words[] = {"\x08\x01", "\x08\x03", "\x1f\x8b\x08", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct idx x;
    int n_dims, rc;

    if (n < 1)
        return 0;
    n_dims = 1 + data[0] % IDX_MAX_DIMS;
    rc = idx_load(fuzz_put("x.idx", data + 1, n - 1), n_dims, &x);
    if (rc < 0) {
        fuzz_refused(rc);
        ASSERT(!x.bytes);
        return 0;
    }
    for (int d = n_dims; d < IDX_MAX_DIMS; d++)
        ASSERT(x.dims[d] == 1);
    fuzz_touch(x.bytes, x.dims[0] * x.dims[1] * x.dims[2]);
    idx_release(&x);
    return 0;
}

static void seed_dims(int n_dims, int gzipped)
{
    const uint8_t head[] = {0, 0, 8, (uint8_t)n_dims};
    const uint8_t first = (uint8_t)(n_dims - 1), pixels[24] = {1, 2, 3};
    uint8_t packed[256] = {first};
    struct bytes file = {0};
    z_stream z = {0};

    bytes_add(&file, &first, 1);
    bytes_add(&file, head, sizeof(head));
    for (int d = 0; d < n_dims; d++)
        bytes_add(&file, (uint8_t[]){0, 0, 0, (uint8_t)(d + 2)}, 4);
    bytes_add(&file, pixels, (size_t[]){2, 6, 24}[n_dims - 1]);
    if (!gzipped) {
        fuzz_seed(file.data, file.n);
    } else {
        deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
        z.next_in = file.data + 1;
        z.avail_in = (uInt)(file.n - 1);
        z.next_out = packed + 1;
        z.avail_out = sizeof(packed) - 1;
        deflate(&z, Z_FINISH);
        fuzz_seed(packed, 1 + z.total_out);
        deflateEnd(&z);
    }
    bytes_release(&file);
}

void fuzz_seeds(void)
{
    for (int n_dims = 1; n_dims <= IDX_MAX_DIMS; n_dims++) {
        seed_dims(n_dims, 0);
        seed_dims(n_dims, 1);
    }
}
