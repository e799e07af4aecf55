/* A data set with every hard picture, name and folder, and a second one with every hard label,
 * each file with what must be said of it. Pictures are made here; the ids are those of the tables
 * that the tests of hard inputs print: A1 four inks, A2 content that is not what the name says, A4
 * orientation, A5 cut files, A7 codings, A8 depths and alpha, A10 sizes; B1 names, B3 empty class
 * folders, B6 labels. */
#ifndef STAVE_TESTS_HARD_FILES_H
#define STAVE_TESTS_HARD_FILES_H

#include <math.h>

#include "data/recordio_writer.h"
#include "hard_patch.h"

enum { HARD_W = 64, HARD_H = 48 }; /* at least: no two pictures are the same */

enum hard_damage {
    WHOLE,
    HALF,
    TWO_SHORT,
    ZEROS,
    EMPTY,
    SOI,
    GIF,
    BMP,
    LYING,
    TURNED, /* tagged with orientation 6 */
    UPRIGHT /* tagged with orientation 1 */
};

struct hard_file {
    const char *class, *name;
    struct jpeg_kind jpeg; /* when components > 0 */
    int color, depth;      /* else a PNG, when depth > 0 */
    enum hard_damage damage;
    const char *outcome, *what; /* NULL: nothing is said of it */
};

#define YCC .jpeg = {.components = 3, .h = 2, .v = 2}
#define PNG(color_, depth_) .color = PNG_COLOR_TYPE_##color_, .depth = depth_

static const struct hard_file hard_files[] = {
    {"A1", "ycck.JPEG", .jpeg = {.components = 4}, .outcome = "odd", .what = "cmyk made RGB"},
    {"A1", "cmyk.JPEG", .jpeg = {.components = 4, .cmyk = 1}, .outcome = "odd",
     .what = "cmyk made RGB"},
    {"A1", "no-adobe-marker.JPEG", .jpeg = {.components = 4, .no_adobe = 1}, .outcome = "odd",
     .what = "cmyk made RGB"},
    {"A2", "bmp.JPEG", .damage = BMP, .outcome = "broken", .what = "this is a BMP; JPEG and PNG"},
    {"A2", "gif.JPEG", .damage = GIF, .outcome = "broken", .what = "this is a GIF; JPEG and PNG"},
    {"A2", "png.JPEG", PNG(RGB, 8), .outcome = "odd", .what = "a PNG under the name of a JPEG"},
    {"A2", "png.png", PNG(RGB, 8)},
    {"A4", "turned-6.JPEG", YCC, .damage = TURNED, .outcome = "odd", .what = "EXIF orientation"},
    {"A4", "turned-6.png", PNG(RGB, 8), .damage = TURNED, .outcome = "odd",
     .what = "EXIF orientation"},
    {"A4", "upright-1.JPEG", YCC, .damage = UPRIGHT},
    {"A5", "empty.JPEG", YCC, .damage = EMPTY, .outcome = "broken", .what = "the file is empty"},
    {"A5", "half.JPEG", YCC, .damage = HALF, .outcome = "broken",
     .what = "the JPEG is truncated: no end-of-image mark"},
    {"A5", "half.png", PNG(RGB, 8), .damage = HALF, .outcome = "broken",
     .what = "the PNG is truncated: no IEND chunk"},
    {"A5", "soi-only.JPEG", YCC, .damage = SOI, .outcome = "broken",
     .what = "the JPEG is damaged near byte 2 of 2"},
    {"A5", "two-bytes-short.JPEG", YCC, .damage = TWO_SHORT, .outcome = "broken",
     .what = "the JPEG is truncated: no end-of-image mark"},
    {"A5", "zero-filled.JPEG", YCC, .damage = ZEROS, .outcome = "broken",
     .what = "the JPEG is truncated: no end-of-image mark"},
    {"A6", "after-bad-ones.JPEG", YCC},
    {"A7", "1x2.JPEG", .jpeg = {.components = 3, .h = 1, .v = 2}},
    {"A7", "4x1.JPEG", .jpeg = {.components = 3, .h = 4, .v = 1}},
    {"A7", "arithmetic.JPEG", .jpeg = {.components = 3, .arithmetic = 1}, .outcome = "odd",
     .what = "arithmetic coding"},
    {"A7", "progressive.JPEG", .jpeg = {.components = 3, .progressive = 1}, .outcome = "odd",
     .what = "progressive"},
    {"A7", "restart.JPEG", .jpeg = {.components = 3, .restart = 1}},
    {"A7", "rgb.JPEG", .jpeg = {.components = 3, .rgb = 1}},
    {"A8", "grey.JPEG", .jpeg = {.components = 1}, .outcome = "odd", .what = "grey made RGB"},
    {"A8", "grey-1-bit.png", PNG(GRAY, 1), .outcome = "odd", .what = "grey made RGB"},
    {"A8", "grey-16-bits.png", PNG(GRAY, 16), .outcome = "odd",
     .what = "grey made RGB; 16 bits made 8"},
    {"A8", "la.png", PNG(GRAY_ALPHA, 8), .outcome = "odd",
     .what = "grey made RGB; alpha flattened on white"},
    {"A8", "palette.png", PNG(PALETTE, 8), .outcome = "odd", .what = "alpha flattened on white"},
    {"A8", "rgb-16-bits.png", PNG(RGB, 16), .outcome = "odd", .what = "16 bits made 8"},
    {"A8", "rgba.png", PNG(RGB_ALPHA, 8), .outcome = "odd", .what = "alpha flattened on white"},
    {"A10", "claims-65500x65500.JPEG", YCC, .damage = LYING, .outcome = "broken",
     .what = "the JPEG claims 65500 x 65500 pixels, which its"},
    {"B1 a b", "-rf.jpg", YCC, .outcome = "odd", .what = "the name starts with a dash"},
    {"B1 a b", "line\nend.JPEG", YCC, .outcome = "odd", .what = "the name holds a line's end"},
    {"B1 a b", "not utf-8 \xFF\xFE.JPEG", YCC, .outcome = "odd",
     .what = "the name holds a blank; the name is not UTF-8"},
    {"B1 a b", "x y.JPEG", YCC, .outcome = "odd", .what = "the name holds a blank"},
    {"B1 a b", "red \x1b[31m.JPEG", YCC, .outcome = "odd",
     .what = "the name holds a blank; the name holds a control character"},
    {"B1 日本", "猫.jpg", YCC},
};

static void hard_damage(struct bytes *b, enum hard_damage damage)
{
    if (damage == HALF)
        b->n /= 2;
    else if (damage == TWO_SHORT)
        b->n -= 2;
    else if (damage == ZEROS)
        memset(b->data + b->n / 2, 0, b->n - b->n / 2);
    else if (damage == EMPTY)
        b->n = 0;
    else if (damage == SOI)
        b->n = 2;
    else if (damage == LYING)
        patch_size(b, 65500, 65500);
    else if (damage == TURNED || damage == UPRIGHT)
        add_orientation(b, b->data[0] == 0x89 ? 2 : 0, damage == TURNED ? 6 : 1);
}

static void hard_make(const struct hard_file *f, int seed, struct bytes *out)
{
    const int w = HARD_W + seed, h = HARD_H + seed / 2;
    uint8_t *const px = picture_new(w, h, seed);
    const size_t n = (size_t)w * (size_t)h * 8;
    uint8_t *const rows = xmalloc(n);

    for (size_t i = 0; i < n; i++)
        rows[i] = (uint8_t)random_mix(i + (uint64_t)seed * 1000000);
    out->n = 0;
    if (f->damage == GIF)
        bytes_add(out, "GIF89a\1\0\1\0\0\0\0;", 14);
    else if (f->damage == BMP)
        bytes_add(out, "BM\x3A\0\0\0\0\0\0\0\x36\0\0\0", 14);
    else if (f->depth)
        make_png(w, h, f->color, f->depth, 0, rows, out);
    else
        make_jpeg(&f->jpeg, px, w, h, out);
    hard_damage(out, f->damage);
    free(rows);
    free(px);
}

static void hard_put(const char *dir, const char *split, const struct hard_file *f, int seed)
{
    char *const folder = xasprintf("%s/%s", split, f->class);
    char *const path = xasprintf("%s/%s", folder, f->name);
    struct bytes b = {0};

    hard_make(f, seed, &b);
    make_dir(dir, folder);
    write_file(dir, path, b.data, b.n);
    bytes_release(&b);
    free(path);
    free(folder);
}

/* DIR/train with all of them, a good picture in each of its classes and of DIR/val's; the class B3
 * is empty in both. */
UNUSED_FUNCTION void hard_folder(const char *dir)
{
    const int n = COUNT_OF(hard_files);

    for (int i = 0; i < n; i++) {
        const struct hard_file good = {hard_files[i].class, "good.JPEG", YCC};

        hard_put(dir, "train", &hard_files[i], i);
        if (i && strcmp(good.class, hard_files[i - 1].class) == 0)
            continue;
        hard_put(dir, "train", &good, n + i);
        hard_put(dir, "val", &good, 2 * n + i);
    }
    make_dir(dir, "train/B3");
    make_dir(dir, "val/B3");
}

/* What stands in the header of each record, for a model of 1000 classes. */
struct hard_label {
    float label;
    const char *what; /* of the line labelled "label"; NULL: nothing is said of it */
};

static const struct hard_label hard_labels[] = {
    {1, NULL},
    {2, NULL},
    {3, NULL},
    {999, NULL},
    {1000, "label 1000 is outside 0..999"},
    {1001, "label 1001 is outside 0..999"},
    {-1, "label -1 is outside 0..999"},
    {NAN, "the label is nan, expected a whole number"},
    {INFINITY, "the label is inf, expected a whole number"},
    {0.5f, "the label is 0.5, expected a whole number"},
};

static void hard_write_records(const char *prefix, const struct hard_label *labels, int n, int seed)
{
    struct recordio_writer *w;
    struct bytes b = {0};

    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (int i = 0; i < n; i++) {
        simple_jpeg(HARD_W + i, HARD_H, seed + i, &b);
        assert_int_equal(recordio_writer_add(w, (struct recordio_entry){.label = labels[i].label,
                                                                        .id = (uint64_t)i,
                                                                        .payload = b.data,
                                                                        .n = b.n}),
                         0);
    }
    assert_int_equal(recordio_writer_commit(w, NULL), 0);
    bytes_release(&b);
}

/* DIR/train.rec with all of them and DIR/val.rec with labels 1, 2 and 3. */
UNUSED_FUNCTION void hard_records(const char *dir)
{
    char *const train = file_join(dir, "train"), *const val = file_join(dir, "val");

    hard_write_records(train, hard_labels, COUNT_OF(hard_labels), 1000);
    hard_write_records(val, hard_labels, 3, 1040);
    free(train);
    free(val);
}

#endif
