/* Tar shards: members lie inside the archive, labels agree however they are asked for. The first
 * byte's lowest bit asks for right checksums in every block, which mutation alone never finds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "data/source.h"
#include "data/tar.h"
#include "fuzz.h"

enum { FIX_SUMS = 1, MAX_READ = 64 };

const char *const fuzz_words[] = {"ustar\0", "ustar  ",         "a.jpg",       "a.cls", "L",
                                  "x",       "14 path=b.jpg\n", "10 size=1\n", NULL};

static void fix_sum(struct tar_header *h)
{
    unsigned sum = 0;

    memset(h->sum, ' ', sizeof(h->sum));
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += ((const uint8_t *)h)[i];
    snprintf(h->sum, sizeof(h->sum), "%06o", sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sample sample = {0};
    struct source *s;
    uint8_t *copy;
    char where[64];
    int rc;

    if (n < 1)
        return 0;
    copy = xmalloc(n);
    memcpy(copy, data + 1, n - 1);
    for (size_t i = 0; data[0] & FIX_SUMS && i + TAR_BLOCK <= n - 1; i += TAR_BLOCK)
        if (copy[i])
            fix_sum((struct tar_header *)(copy + i));
    rc = source_open(fuzz_put("x.tar", copy, n - 1), &s);
    free(copy);
    if (rc < 0) {
        fuzz_refused(rc);
        return 0;
    }
    for (uint64_t i = 0; i < s->n_samples && i < MAX_READ; i++) {
        int64_t label = 0;
        const int rc_label = source_label(s, i, &label);

        rc = source_read(s, i, &sample);
        source_locate(s, i, where, sizeof(where));
        ASSERT((rc < 0) == (rc_label < 0) && (rc < 0 || sample.label == label));
        if (rc < 0)
            fuzz_refused(rc);
        else
            fuzz_touch(sample.data, sample.n);
    }
    sample_release(&sample);
    source_close(s);
    return 0;
}

static void member(struct bytes *b, const char *name, char type, const char *content)
{
    struct tar_header h = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    uint8_t body[TAR_BLOCK] = {0};

    memcpy(h.name, name, strlen(name));
    snprintf(h.size, sizeof(h.size), "%011zo", strlen(content));
    fix_sum(&h);
    memcpy(body, content, strlen(content));
    bytes_add(b, &h, sizeof(h));
    bytes_add(b, body, sizeof(body));
}

void fuzz_seeds(void)
{
    struct bytes b = {0};

    for (uint8_t first = 0; first < 2; first++) {
        b.n = 0;
        bytes_add(&b, &first, 1);
        member(&b, "a.jpg", '0', "picture");
        member(&b, "a.cls", '0', "5\n");
        member(&b, "././@LongLink", 'L', "d/long.png");
        member(&b, "d/lo", '0', "other");
        member(&b, "d/long.cls", '0', "x");
        member(&b, "pax", 'x', "14 path=b.jpg\n");
        member(&b, "p", '0', "third");
        member(&b, "d", '5', "");
        fuzz_seed(b.data, b.n);
    }
    bytes_release(&b);
}
