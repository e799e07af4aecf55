/* Fashion-MNIST (Xiao, Rasul, Vollgraf 2017), as Debian's dataset-fashion-mnist installs it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "data/bytes.h"
#include "data/idx.h"
#include "data/jpeg_encode.h"
#include "data/prepare_int.h"

enum { N_SPLITS = 2, N_CLASSES = 10, QUALITY = 90 };

static const char *const installed = "/usr/share/datasets/fashion-mnist";
static const char *const class_names[N_CLASSES] = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot",
};

/* One split as loaded. */
struct part {
    struct idx images, labels;
    struct split split;
};

static int load_idx(const char *dir, const char *name, int n_dims, struct idx *out)
{
    char *const packed = xasprintf("%s/%s.gz", dir, name);
    char *const plain = xasprintf("%s/%s", dir, name);
    int rc;

    if (file_exists(packed) || file_exists(plain))
        rc = idx_load(file_exists(packed) ? packed : plain, n_dims, out);
    else
        rc = err(
            E_IO,
            "%s is missing; install the Debian package dataset-fashion-mnist or name the folder "
            "that holds its files",
            packed);
    free(packed);
    free(plain);
    return rc;
}

static int load_part(const char *dir, const char *stem, uint64_t n, struct part *p)
{
    char images[64], labels[64];
    const struct idx *const x = &p->images, *const y = &p->labels;
    size_t pixels;

    snprintf(images, sizeof(images), "%s-images-idx3-ubyte", stem);
    snprintf(labels, sizeof(labels), "%s-labels-idx1-ubyte", stem);
    TRY(load_idx(dir, images, 3, &p->images));
    TRY(load_idx(dir, labels, 1, &p->labels));
    if (x->dims[0] != y->dims[0])
        return err(E_DATA, "%s in %s has %zu images but %zu labels", stem, dir, x->dims[0],
                   y->dims[0]);
    if (n > x->dims[0])
        return err(E_USAGE, "%llu images asked for, but %s in %s has %zu", (unsigned long long)n,
                   stem, dir, x->dims[0]);
    p->split.totals.n_records = n ? n : x->dims[0];
    p->split.content_checksum = CHECKSUM_INIT;
    pixels = x->dims[1] * x->dims[2];
    for (size_t i = 0; i < p->split.totals.n_records; i++) {
        if (y->bytes[i] >= N_CLASSES)
            return err(E_DATA, "label %zu of %s in %s is %d, expected 0..%d", i, stem, dir,
                       y->bytes[i], N_CLASSES - 1);
        p->split.content_checksum =
            checksum_add(p->split.content_checksum, x->bytes + i * pixels, pixels);
        p->split.content_checksum = checksum_add(p->split.content_checksum, y->bytes + i, 1);
    }
    return 0;
}

static int add_images(const struct part *p, struct recordio_writer *w,
                      const struct prepare_progress *progress)
{
    const size_t height = p->images.dims[1], width = p->images.dims[2];
    struct bytes jpeg = {0};
    int rc = 0;

    for (size_t i = 0; i < p->split.totals.n_records && rc == 0; i++) {
        const struct jpeg_picture picture = {.px = p->images.bytes + i * width * height,
                                             .width = (int)width,
                                             .height = (int)height,
                                             .channels = 1,
                                             .quality = QUALITY};

        rc = jpeg_encode(picture, &jpeg);
        if (rc == 0)
            rc = recordio_writer_add(
                w, (struct recordio_entry){
                       .label = p->labels.bytes[i], .id = i, .payload = jpeg.data, .n = jpeg.n});
        prepare_tell(progress, p->split.name, i + 1, p->split.totals.n_records);
    }
    bytes_release(&jpeg);
    return rc;
}

static int write_part(struct part *p, const char *to, const struct prepare_progress *progress)
{
    char *const prefix = file_join(to, p->split.name);
    struct recordio_writer *w = NULL;
    int rc = recordio_writer_open(prefix, &w);

    free(prefix);
    TRY(rc);
    rc = add_images(p, w, progress);
    if (rc < 0) {
        recordio_writer_abort(w);
        return rc;
    }
    return recordio_writer_commit(w, &p->split.totals);
}

static int write_json(const char *path, const struct part *parts, uint64_t checksum)
{
    struct str text = STR_INIT;
    int rc;

    str_printf(&text,
               "{\"name\": \"fashion-mnist\", \"format\": \"recordio\", \"image_width\": %zu, "
               "\"image_height\": %zu, \"channels\": 1, \"jpeg_quality\": %d,\n \"n_classes\": %d, "
               "\"classes\": [",
               parts[0].images.dims[2], parts[0].images.dims[1], QUALITY, N_CLASSES);
    for (int c = 0; c < N_CLASSES; c++) {
        str_add(&text, c ? ", " : "");
        str_add_json(&text, class_names[c]);
    }
    str_printf(&text, "],\n \"content_checksum\": \"fnv1a64:%016" PRIx64 "\"", checksum);
    for (size_t i = 0; i < N_SPLITS; i++) {
        str_add(&text, ",\n ");
        split_add_json(&parts[i].split, &text);
    }
    str_add(&text, "}\n");
    rc = file_replace(path, text.s, text.len);
    str_release(&text);
    return rc;
}

static int write_all(const struct prepare_fashion *p, struct part *parts, const char *json,
                     uint64_t checksum)
{
    TRY(file_mkdirs(p->to));
    for (size_t i = 0; i < N_SPLITS; i++)
        TRY(write_part(&parts[i], p->to, &p->progress));
    return write_json(json, parts, checksum);
}

static int load_and_write(const struct prepare_fashion *p, struct part *parts,
                          struct prepare_result *out)
{
    const char *const from = p->from ? p->from : installed;
    char *json;
    int rc = 0;

    TRY(load_part(from, "train", p->n_train, &parts[0]));
    TRY(load_part(from, "t10k", p->n_val, &parts[1]));
    out->n_train = parts[0].split.totals.n_records;
    out->n_val = parts[1].split.totals.n_records;
    out->content_checksum = CHECKSUM_INIT;
    for (size_t i = 0; i < N_SPLITS; i++)
        out->content_checksum =
            checksum_add(out->content_checksum, &parts[i].split.content_checksum, sizeof(uint64_t));
    json = file_join(p->to, "dataset.json");
    out->already =
        splits_match(json, p->to, (struct split[]){parts[0].split, parts[1].split}, N_SPLITS);
    if (!out->already)
        rc = write_all(p, parts, json, out->content_checksum);
    free(json);
    return rc;
}

int prepare_fashion_mnist(struct prepare_fashion p, struct prepare_result *out)
{
    struct part parts[N_SPLITS] = {{.split.name = "train"}, {.split.name = "val"}};
    int rc;

    *out = (struct prepare_result){0};
    rc = load_and_write(&p, parts, out);
    for (size_t i = 0; i < N_SPLITS; i++) {
        idx_release(&parts[i].images);
        idx_release(&parts[i].labels);
    }
    return rc;
}
