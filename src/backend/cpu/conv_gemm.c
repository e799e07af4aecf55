#include "backend/cpu/conv_gemm.h"

#include <string.h>

#include "backend/cpu/conv.h"
#include "backend/cpu/parallel.h"
#include "base/bf16.h"

enum { ROW_GRAIN = 16, SUM_CHANNELS = 1024 };

/* What a block of patches may take: it is written once and read once, from the cache. */
static const int64_t block_bytes = (int64_t)8 << 20;

static int64_t or_one(int64_t v)
{
    return v ? v : 1;
}

/* Tap k of output o reads input o * stride + k - pad. */
static struct cpu_taps taps(int64_t in, int64_t kernel, int64_t pad, int64_t last_start)
{
    const int64_t first = pad - last_start > 0 ? pad - last_start : 0;
    const int64_t end = in + pad < kernel ? in + pad : kernel;

    return (struct cpu_taps){first, end - first};
}

static int needs_patches(const struct cpu_conv_gemm *g)
{
    const struct cpu_conv_shape *s = &g->shape;

    return s->kh != 1 || s->kw != 1 || s->stride_h != 1 || s->stride_w != 1 || s->pad_h || s->pad_w;
}

static int is_cropped(const struct cpu_conv_gemm *g)
{
    return g->taps_h.count != g->shape.kh || g->taps_w.count != g->shape.kw;
}

/* Whether no input pixel is in more than one patch. */
static int patches_apart(const struct cpu_conv_gemm *g)
{
    return g->taps_h.count <= g->shape.stride_h && g->taps_w.count <= g->shape.stride_w;
}

/* Of dP in float32 where dx sums several of its rows. */
static enum dtype patch_type(const struct cpu_conv_gemm *g)
{
    return g->direction == CPU_CONV_BACKWARD_DATA && !patches_apart(g) ? DT_F32 : g->shape.type;
}

static size_t patch_element(const struct cpu_conv_gemm *g)
{
    return dtype_size(patch_type(g));
}

static size_t weight_element(const struct cpu_conv_gemm *g)
{
    return dtype_size(g->direction == CPU_CONV_BACKWARD_WEIGHTS ? DT_F32 : g->shape.type);
}

/* The fewest blocks of equally many images that are small enough, or of one image. */
static int64_t blocks_of(int64_t images, int64_t image_bytes)
{
    int64_t blocks = 1;

    while (blocks < images && (images % blocks || images / blocks * image_bytes > block_bytes))
        blocks++;
    return blocks;
}

static void geometry(struct cpu_conv_gemm *g)
{
    struct cpu_conv_shape *s = &g->shape;
    const int64_t oh = cpu_conv_out_h(s), ow = cpu_conv_out_w(s);

    s->stride_h = or_one(s->stride_h);
    s->stride_w = or_one(s->stride_w);
    s->groups = or_one(s->groups);
    g->taps_h = taps(s->h, s->kh, s->pad_h, (oh - 1) * s->stride_h);
    g->taps_w = taps(s->w, s->kw, s->pad_w, (ow - 1) * s->stride_w);
    g->columns = g->taps_h.count * g->taps_w.count * s->c;
    g->blocks = 1;
    if (needs_patches(g))
        g->blocks = blocks_of(s->n, oh * ow * g->columns * (int64_t)patch_element(g));
    g->rows = s->n / g->blocks * oh * ow;
    if (needs_patches(g))
        g->patch_bytes = dnnl_call_aligned((size_t)(g->rows * g->columns) * patch_element(g));
    if (is_cropped(g))
        g->weights_bytes = dnnl_call_aligned((size_t)(s->out * g->columns) * weight_element(g));
}

/* With patches P [rows][columns], weights W [out][columns]: y = P W', dP = dy W, dW = dy' P. */
static struct cpu_matmul_shape product(const struct cpu_conv_gemm *g)
{
    const int64_t out = g->shape.out;
    const enum dtype type = g->shape.type;

    switch (g->direction) {
    case CPU_CONV_FORWARD:
        return (struct cpu_matmul_shape){
            .m = g->rows, .n = out, .k = g->columns, .trans_b = 1, .type = type, .dst_type = type};
    case CPU_CONV_BACKWARD_DATA:
        return (struct cpu_matmul_shape){
            .m = g->rows, .n = g->columns, .k = out, .type = type, .dst_type = patch_type(g)};
    case CPU_CONV_BACKWARD_WEIGHTS:
        break;
    }
    return (struct cpu_matmul_shape){
        .m = out, .n = g->columns, .k = g->rows, .trans_a = 1, .type = type};
}

int cpu_has_avx512(void)
{
    const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

    return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

enum { FEW_CHANNELS = 32, MANY_CHANNELS = 128, SMALL_IMAGE = 64, MEDIUM_IMAGE = 256 };

/* With bf16 tiles the library's convolutions lose to its product in all that is 1x1, but forward on
 * large images, and in the gradients of larger kernels where the patches are few. */
static int64_t narrow_most_pixels(const struct cpu_conv_gemm *g)
{
    const struct cpu_conv_shape *s = &g->shape;
    const int small = s->kh * s->kw == 1, strided = s->stride_h != 1 || s->stride_w != 1;

    switch (g->direction) {
    case CPU_CONV_FORWARD:
        return small ? MEDIUM_IMAGE : strided ? SMALL_IMAGE : 0;
    case CPU_CONV_BACKWARD_DATA:
        return small ? INT64_MAX : strided ? MEDIUM_IMAGE : 0;
    case CPU_CONV_BACKWARD_WEIGHTS:
        break;
    }
    return small ? INT64_MAX : MEDIUM_IMAGE;
}

static int narrow_gemm_wins(const struct cpu_conv_gemm *g, int64_t pixels, const char **why)
{
    const int wins = pixels <= narrow_most_pixels(g);

    *why = wins ? "product: the library's bf16 kernel is slower on this shape"
                : "direct: the library's own kernel is faster here";
    return wins;
}

/* With AVX-512 the library's product beats its 1x1 kernels backwards, but not where the image is
 * large and has more channels than its result; and never its larger kernels. */
static int avx512_gemm_wins(const struct cpu_conv_gemm *g, int64_t pixels, const char **why)
{
    const struct cpu_conv_shape *s = &g->shape;
    const int wins = s->kh * s->kw == 1 && g->direction != CPU_CONV_FORWARD &&
                     (s->out >= s->c || pixels <= MEDIUM_IMAGE);

    *why = wins ? "product: the library's 1x1 kernel is slower backwards"
                : "direct: AVX-512 kernels are faster here";
    return wins;
}

/* A weight gradient of a 1x1 kernel is one long product of two short sides. */
static int64_t most_pixels_of_1x1(const struct cpu_conv_gemm *g)
{
    enum { MANY = 512 };
    const int large = g->shape.c >= MANY && g->shape.out >= MANY;

    return g->patch_bytes || large ? MEDIUM_IMAGE : SMALL_IMAGE;
}

/* With AVX2 the library's larger kernels win backwards on large images or few channels, its 1x1
 * kernels on all but small images. */
static int avx2_gemm_wins(const struct cpu_conv_gemm *g, int64_t pixels, const char **why)
{
    const struct cpu_conv_shape *s = &g->shape;
    const int weights = g->direction == CPU_CONV_BACKWARD_WEIGHTS;
    int wins;

    if (s->kh * s->kw == 1) {
        wins = pixels <= (weights ? most_pixels_of_1x1(g) : SMALL_IMAGE);
        *why = "product: the library's 1x1 kernel is slower on images this small";
    } else if (g->direction == CPU_CONV_BACKWARD_DATA) {
        wins = s->c >= MANY_CHANNELS && pixels <= MEDIUM_IMAGE;
        *why = "product: the library's kernel is slower on many channels of a small image";
    } else {
        wins = 1;
        *why = "product: the library's larger kernels are slower without AVX-512";
    }
    if (!wins)
        *why = "direct: the library's own kernel is faster here";
    return wins;
}

/* Measured on two cores with AVX2 (float32: oneDNN 2.6 and 3.2, batches 16 to 128, the layers of
 * ResNet-50 on images of 28, 32 and 224) and with AVX-512 and AMX (2.6, batch 32, images of 224).
 * On three channels the patch matrix is mostly copying. */
int cpu_conv_gemm_wins(const struct cpu_conv_shape *s, enum cpu_conv_direction direction,
                       const char **why)
{
    const size_t patch_limit = (size_t)64 << 20;
    struct cpu_conv_gemm g = {.shape = *s, .direction = direction};
    int64_t pixels;

    *why = "direct: few channels, patches would be mostly copying";
    if (or_one(s->groups) != 1 || s->c < FEW_CHANNELS)
        return 0;
    geometry(&g);
    pixels = g.rows * g.blocks / s->n;
    *why = "direct: patches of one image outgrow the cache";
    if (g.patch_bytes > patch_limit)
        return 0;
    if (s->type == DT_BF16)
        return narrow_gemm_wins(&g, pixels, why);
    *why = is_cropped(&g) ? "product: taps that see only padding are left out"
                          : "product: the library's kernels are slower under 4 pixels";
    if (pixels < 4)
        return 1;
    *why = "product: the library's 1x1 kernel declines, its general one is slower";
    if (s->kh * s->kw == 1 && (s->h % g.shape.stride_h || s->w % g.shape.stride_w))
        return 1; /* the general kernel takes four times as long */
    if (cpu_has_avx512())
        return avx512_gemm_wins(&g, pixels, why);
    return avx2_gemm_wins(&g, pixels, why);
}

int cpu_conv_gemm_prepare(struct cpu_conv_gemm *g, const struct cpu_dnnl *lib,
                          const struct cpu_conv_shape *s, enum cpu_conv_direction direction)
{
    struct cpu_matmul_shape shape;

    *g = (struct cpu_conv_gemm){.shape = *s, .direction = direction};
    geometry(g);
    ASSERT(g->shape.groups == 1);
    shape = product(g);
    TRY(cpu_matmul_prepare(&g->matmul, lib, &shape));
    if (direction == CPU_CONV_BACKWARD_WEIGHTS && g->blocks > 1) {
        shape.accumulate = 1;
        TRY(cpu_matmul_prepare(&g->more, lib, &shape));
    }
    g->scratch_bytes =
        g->patch_bytes + g->weights_bytes +
        (g->more.scratch_bytes > g->matmul.scratch_bytes ? g->more : g->matmul).scratch_bytes;
    return 0;
}

void cpu_conv_gemm_release(struct cpu_conv_gemm *g)
{
    cpu_matmul_release(&g->matmul);
    cpu_matmul_release(&g->more);
}

struct gather {
    const struct cpu_conv_gemm *g;
    const void *src;
    void *dst;
};

static char *copy_or_zero(char *dst, const char *src, size_t bytes)
{
    if (src)
        memcpy(dst, src, bytes);
    else
        memset(dst, 0, bytes);
    return dst + bytes;
}

static void gather_row(const struct gather *a, int64_t row)
{
    const struct cpu_conv_gemm *g = a->g;
    const struct cpu_conv_shape *s = &g->shape;
    const int64_t ow = cpu_conv_out_w(s), oh = cpu_conv_out_h(s);
    const int64_t y0 = row / ow % oh * s->stride_h - s->pad_h + g->taps_h.first;
    const int64_t x0 = row % ow * s->stride_w - s->pad_w + g->taps_w.first;
    const int64_t pixel = s->c * (int64_t)patch_element(g); /* bytes */
    const char *const image = (const char *)a->src + row / (oh * ow) * s->h * s->w * pixel;
    char *dst = (char *)a->dst + row * g->taps_h.count * g->taps_w.count * pixel;

    for (int64_t y = y0; y < y0 + g->taps_h.count; y++)
        for (int64_t x = x0; x < x0 + g->taps_w.count; x++) {
            const int inside = y >= 0 && y < s->h && x >= 0 && x < s->w;

            dst = copy_or_zero(dst, inside ? image + (y * s->w + x) * pixel : NULL, (size_t)pixel);
        }
}

static void gather_rows(void *arg, size_t begin, size_t end)
{
    for (size_t row = begin; row < end; row++)
        gather_row(arg, (int64_t)row);
}

/* The output along one axis whose tap k reads input i, or -1. */
static int64_t reader(int64_t i, int64_t k, int64_t stride, int64_t outs)
{
    const int64_t at = i - k;

    return at >= 0 && at % stride == 0 && at / stride < outs ? at / stride : -1;
}

/* dx of one pixel in the channels from .. from + count - 1: the sum of its copies in dP, in the
 * order of the taps. */
static void sum_copies(const struct gather *a, int64_t pixel, int64_t from, int64_t count,
                       float *sum)
{
    const struct cpu_conv_gemm *g = a->g;
    const struct cpu_conv_shape *s = &g->shape;
    const int64_t ow = cpu_conv_out_w(s), oh = cpu_conv_out_h(s);
    const int64_t y = pixel / s->w % s->h + s->pad_h - g->taps_h.first;
    const int64_t x = pixel % s->w + s->pad_w - g->taps_w.first;
    const int64_t first_row = pixel / (s->h * s->w) * oh * ow;

    memset(sum, 0, (size_t)count * sizeof(float));
    for (int64_t ky = 0; ky < g->taps_h.count; ky++)
        for (int64_t kx = 0; kx < g->taps_w.count; kx++) {
            const int64_t oy = reader(y, ky, s->stride_h, oh), ox = reader(x, kx, s->stride_w, ow);
            const float *src = (const float *)a->src + (first_row + oy * ow + ox) * g->columns +
                               (ky * g->taps_w.count + kx) * s->c + from;

            for (int64_t c = 0; oy >= 0 && ox >= 0 && c < count; c++)
                sum[c] += src[c];
        }
}

/* The one copy of a pixel in dP, or NULL. */
static const char *sole_copy(const struct gather *a, int64_t pixel)
{
    const struct cpu_conv_gemm *g = a->g;
    const struct cpu_conv_shape *s = &g->shape;
    const int64_t ow = cpu_conv_out_w(s), oh = cpu_conv_out_h(s);
    const int64_t y = pixel / s->w % s->h + s->pad_h - g->taps_h.first;
    const int64_t x = pixel % s->w + s->pad_w - g->taps_w.first;
    const int64_t ky = y % s->stride_h, kx = x % s->stride_w;
    const int64_t oy = y / s->stride_h, ox = x / s->stride_w;
    const int64_t row = (pixel / (s->h * s->w) * oh + oy) * ow + ox;

    if (y < 0 || x < 0 || oy >= oh || ox >= ow || ky >= g->taps_h.count || kx >= g->taps_w.count)
        return NULL;
    return (const char *)a->src +
           (row * g->columns + (ky * g->taps_w.count + kx) * s->c) * (int64_t)patch_element(g);
}

static void scatter_pixel(const struct gather *a, int64_t pixel)
{
    const int64_t channels = a->g->shape.c;
    const size_t bytes = (size_t)channels * dtype_size(a->g->shape.type);
    float sum[SUM_CHANNELS];

    if (patches_apart(a->g)) {
        copy_or_zero((char *)a->dst + (size_t)pixel * bytes, sole_copy(a, pixel), bytes);
        return;
    }
    if (a->g->shape.type == DT_F32)
        sum_copies(a, pixel, 0, channels, (float *)a->dst + pixel * channels);
    for (int64_t from = 0; a->g->shape.type == DT_BF16 && from < channels; from += SUM_CHANNELS) {
        const int64_t count = channels - from < SUM_CHANNELS ? channels - from : SUM_CHANNELS;
        uint16_t *const dst = (uint16_t *)a->dst + pixel * channels + from;

        sum_copies(a, pixel, from, count, sum);
        for (int64_t c = 0; c < count; c++)
            dst[c] = bf16_from_float(sum[c]);
    }
}

static void scatter_pixels(void *arg, size_t begin, size_t end)
{
    for (size_t pixel = begin; pixel < end; pixel++)
        scatter_pixel(arg, (int64_t)pixel);
}

static char *crop_tap(const struct cpu_conv_gemm *g, const void *full, int64_t out, int64_t ky)
{
    const struct cpu_conv_shape *s = &g->shape;
    const int64_t at = ((out * s->kh + g->taps_h.first + ky) * s->kw + g->taps_w.first) * s->c;

    return (char *)full + at * (int64_t)weight_element(g);
}

static void crop(const struct cpu_conv_gemm *g, const void *full, char *cropped)
{
    const size_t row = (size_t)(g->taps_w.count * g->shape.c) * weight_element(g);

    for (int64_t out = 0; out < g->shape.out; out++)
        for (int64_t ky = 0; ky < g->taps_h.count; ky++, cropped += row)
            memcpy(cropped, crop_tap(g, full, out, ky), row);
}

/* The taps left out never saw data: their gradient is zero. */
static void uncrop(const struct cpu_conv_gemm *g, const char *cropped, void *full)
{
    const struct cpu_conv_shape *s = &g->shape;
    const size_t row = (size_t)(g->taps_w.count * s->c) * weight_element(g);

    memset(full, 0, (size_t)(s->out * s->kh * s->kw * s->c) * weight_element(g));
    for (int64_t out = 0; out < s->out; out++)
        for (int64_t ky = 0; ky < g->taps_h.count; ky++, cropped += row)
            memcpy(crop_tap(g, full, out, ky), cropped, row);
}

static const void *patches(const struct cpu_conv_gemm *g, const void *x, void *room)
{
    struct gather a = {g, x, room};

    if (!g->patch_bytes)
        return x;
    cpu_parallel((struct cpu_split){g->matmul.lib->threads, (size_t)g->rows, ROW_GRAIN},
                 gather_rows, &a);
    return room;
}

static const void *weights(const struct cpu_conv_gemm *g, const void *w, void *room)
{
    if (!g->weights_bytes)
        return w;
    crop(g, w, room);
    return room;
}

/* One block of one direction: x and y point to its images. */
struct block {
    const void *x, *y;
    void *dx, *dy;
};

static int run_block(const struct cpu_conv_gemm *g, const struct cpu_matmul *product,
                     const struct block *b, struct cpu_matmul_args m, void *room)
{
    struct gather back = {g, room, b->dx};

    switch (g->direction) {
    case CPU_CONV_FORWARD:
        m.a = patches(g, b->x, room);
        m.dst = b->dy;
        return cpu_matmul_run(product, &m);
    case CPU_CONV_BACKWARD_DATA:
        m.a = b->y;
        m.dst = g->patch_bytes ? room : b->dx;
        TRY(cpu_matmul_run(product, &m));
        if (g->patch_bytes)
            cpu_parallel(
                (struct cpu_split){g->matmul.lib->threads,
                                   (size_t)(g->shape.n / g->blocks * g->shape.h * g->shape.w),
                                   ROW_GRAIN},
                scatter_pixels, &back);
        return 0;
    case CPU_CONV_BACKWARD_WEIGHTS:
        break;
    }
    m.a = b->y;
    m.b = patches(g, b->x, room);
    return cpu_matmul_run(product, &m);
}

static struct block block_at(const struct cpu_conv_gemm *g, const struct cpu_conv_args *args,
                             int64_t i)
{
    const struct cpu_conv_shape *const s = &g->shape;
    const int64_t element = (int64_t)dtype_size(s->type);
    const int64_t x = i * (s->n / g->blocks) * s->h * s->w * s->c * element;
    const int64_t y = i * g->rows * s->out * element;

    switch (g->direction) {
    case CPU_CONV_FORWARD:
        return (struct block){.x = (const char *)args->a + x, .dy = (char *)args->dst + y};
    case CPU_CONV_BACKWARD_DATA:
        return (struct block){.y = (const char *)args->a + y, .dx = (char *)args->dst + x};
    case CPU_CONV_BACKWARD_WEIGHTS:
        break;
    }
    return (struct block){.x = (const char *)args->a + x, .y = (const char *)args->b + y};
}

int cpu_conv_gemm_run(const struct cpu_conv_gemm *g, const struct cpu_conv_args *args)
{
    const int to_weights = g->direction == CPU_CONV_BACKWARD_WEIGHTS;
    char *const patch_room = args->scratch;
    char *const weight_room = patch_room + g->patch_bytes;
    struct cpu_matmul_args m = {.scratch = weight_room + g->weights_bytes};

    if (to_weights)
        m.dst = g->weights_bytes ? weight_room : args->dst;
    else
        m.b = weights(g, args->b, weight_room);
    for (int64_t i = 0; i < g->blocks; i++) {
        const struct block b = block_at(g, args, i);

        TRY(run_block(g, to_weights && i > 0 ? &g->more : &g->matmul, &b, m, patch_room));
    }
    if (to_weights && g->weights_bytes)
        uncrop(g, weight_room, args->dst);
    return 0;
}
