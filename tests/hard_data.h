/* For the tests of hard inputs: folders full of variants, one evaluation pass over them on every
 * path that data takes, and the table of outcomes, one line on stdout for each kind of input. */
#ifndef STAVE_TESTS_HARD_DATA_H
#define STAVE_TESTS_HARD_DATA_H

#include "hard_outcome.h"
#include "test_data_pipeline.h"

/* Gradients only: every way to compress it keeps it within a few levels. */
UNUSED_FUNCTION uint8_t *smooth_picture(int width, int height, int seed)
{
    uint8_t *const px = xmalloc((size_t)width * (size_t)height * 3);

    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            uint8_t *const p = px + ((size_t)y * (size_t)width + (size_t)x) * 3;

            p[0] = (uint8_t)(30 + x * 200 / width);
            p[1] = (uint8_t)(20 + y * 190 / height);
            p[2] = (uint8_t)(60 + (x + y) * 150 / (width + height) + seed % 20);
        }
    return px;
}

/* A folder of one class; its files are in the order of adding. */
struct variants {
    char *dir;
    int n;
};

UNUSED_FUNCTION struct variants variants_new(void)
{
    struct variants v = {.dir = temp_dir()};

    make_dir(v.dir, "v");
    return v;
}

UNUSED_FUNCTION void variants_add(struct variants *v, const void *bytes, size_t n)
{
    static const char *const endings[] = {".JPEG", ".jpg", ".png", ""};
    char name[32];

    snprintf(name, sizeof(name), "v/%05d%s", v->n, endings[v->n % 4]);
    v->n++;
    write_file(v->dir, name, bytes, n);
}

/* What one pass made of each sample. */
struct pass {
    int n, n_bad;
    uint8_t *px;         /* SIZE x SIZE x 3 each; black when bad */
    char (*reason)[256]; /* "" when good */
    struct pipeline_counters counters;
};

UNUSED_FUNCTION void pass_free(struct pass *p)
{
    free(p->px);
    free(p->reason);
}

static void take_bad(struct pipeline *p, const struct source *s, struct pass *out)
{
    for (const struct bad_sample *b; (b = pipeline_bad_next(p));) {
        char where[512];

        source_locate(s, b->index, where, sizeof(where));
        assert_string_equal(b->location, where);
        assert_int_equal(b->code, E_DATA);
        assert_true(strlen(b->reason) > 5);
        assert_string_equal(out->reason[b->index], "");
        snprintf(out->reason[b->index], sizeof(out->reason[0]), "%s", b->reason);
        out->n_bad++;
    }
}

/* Every sample once, as it is stored when it is SIZE x SIZE. A bad one is black and labelled -1. */
static struct pass pass_over_source(const struct source *s, struct pipeline_config f)
{
    struct pass out = {.n = (int)s->n_samples};
    struct pipeline *p;
    int at = 0;

    f.source = s;
    f.mode = PIPELINE_EVAL;
    f.batch_size = 16;
    f.prefetch = 3;
    f.eval = (struct augment_eval){.resize = SIZE, .crop = SIZE};
    out.px = xcalloc(s->n_samples, SIZE * SIZE * 3);
    out.reason = xcalloc(s->n_samples, sizeof(out.reason[0]));
    p = open_pipeline(&f);
    while (at < out.n) {
        const struct batch *const b = next(p);

        take_bad(p, s, &out);
        for (size_t i = 0; i < b->n_real; i++, at++) {
            assert_int_equal(indices(b)[i], at);
            assert_true(weights(b)[i] == 1.0f);
            assert_true((labels(b)[i] == -1) == (out.reason[at][0] != '\0'));
            memcpy(out.px + (size_t)at * SIZE * SIZE * 3, pixels(b, i), SIZE * SIZE * 3);
        }
        pipeline_done(p, b);
    }
    pipeline_counters(p, &out.counters);
    pipeline_close(p);
    return out;
}

static void assert_same_pass(const struct pass *a, const struct pass *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_bad, b->n_bad);
    for (int i = 0; i < a->n; i++)
        assert_string_equal(a->reason[i], b->reason[i]);
    assert_memory_equal(a->px, b->px, (size_t)a->n * SIZE * SIZE * 3);
    assert_memory_equal(a->counters.n_trait, b->counters.n_trait, sizeof(a->counters.n_trait));
}

/* On every path: from the folder with one thread and with three, and from records made of it. All
 * must give the same pixels, reasons and counts. */
UNUSED_FUNCTION struct pass pass_over(const char *dir, struct pipeline_config f)
{
    char *const out = temp_dir(), *const prefix = file_join(out, "a");
    char *const rec = file_join(out, "a.rec");
    struct source *const folder = open_source(dir);
    struct source *records;
    struct pass first, other;

    convert_to(dir, prefix, NULL);
    records = open_source(rec);
    f.n_threads = 1;
    first = pass_over_source(folder, f);
    f.n_threads = 3;
    for (int i = 0; i < 2; i++) {
        other = pass_over_source(i ? records : folder, f);
        assert_same_pass(&first, &other);
        pass_free(&other);
    }
    source_close(folder);
    source_close(records);
    free(rec);
    free(prefix);
    remove_dir(out);
    return first;
}

UNUSED_FUNCTION const uint8_t *pass_pixels(const struct pass *p, int i)
{
    return p->px + (size_t)i * SIZE * SIZE * 3;
}

UNUSED_FUNCTION void assert_reason(const struct pass *p, int i, const char *part)
{
    if (!strstr(p->reason[i], part) || (part[0] == '\0' && p->reason[i][0] != '\0'))
        fail_msg("variant %d: \"%s\" does not say \"%s\"", i, p->reason[i], part);
}

/* What is printed stays one line a message, without control characters. */
UNUSED_FUNCTION void assert_clean(const char *text)
{
    for (const char *p = text; *p; p++)
        if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7F)
            fail_msg("byte %02x is printed: %s", (unsigned char)*p, text);
}

/* What a JPEG decodes to, by libjpeg in the plainest way. */
UNUSED_FUNCTION void plain_decode(const struct bytes *jpeg, uint8_t *px)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    uint8_t line[SIZE * 4], *row = line;

    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, jpeg->data, (unsigned long)jpeg->n);
    jpeg_read_header(&d, TRUE);
    assert_true(d.image_width == SIZE && d.image_height == SIZE);
    d.out_color_space = d.num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&d);
    while (d.output_scanline < d.output_height) {
        uint8_t *const to = px + d.output_scanline * SIZE * 3;

        jpeg_read_scanlines(&d, &row, 1);
        for (int x = 0; x < SIZE; x++)
            for (int c = 0; c < 3; c++)
                to[x * 3 + c] = (uint8_t)(d.output_components == 4
                                              ? (line[x * 4 + c] * line[x * 4 + 3] + 127) / 255
                                              : line[x * 3 + c]);
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
}

#endif
