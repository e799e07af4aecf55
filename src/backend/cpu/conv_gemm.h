/* A convolution as a matrix product over gathered patches, for shapes on which the library's direct
 * kernels are slow: small images with many channels, above all their weight gradients. One row of
 * the patch matrix is one output pixel, its columns are the kernel taps and input channels. Taps
 * that fall into the padding for every output pixel are left out: a 3x3 kernel on a 1x1 image is
 * one tap. A 1x1 kernel of stride 1 needs no patch matrix at all. A patch matrix is made and used
 * in blocks of whole images that stay in the cache; how many depends on the shape only. Owner,
 * threads: as struct cpu_conv, which chooses between the two. */
#ifndef STAVE_BACKEND_CPU_CONV_GEMM_H
#define STAVE_BACKEND_CPU_CONV_GEMM_H

#include "backend/cpu/matmul.h"

struct cpu_conv_args;

/* The taps first .. first + count - 1 of one axis that touch the image at all. */
struct cpu_taps {
    int64_t first, count;
};

struct cpu_conv_gemm {
    struct cpu_conv_shape shape; /* strides and groups set */
    enum cpu_conv_direction direction;
    struct cpu_taps taps_h, taps_w;
    int64_t rows, columns; /* of one block of the patch matrix */
    int64_t blocks;
    struct cpu_matmul matmul, more;    /* more: adds a further block to a weight gradient */
    size_t patch_bytes, weights_bytes; /* at the start of scratch; 0 when not needed */
    size_t scratch_bytes;
};

/* Whether this way is expected to be faster; a function of shape and direction only. */
int cpu_conv_gemm_wins(const struct cpu_conv_shape *s, enum cpu_conv_direction direction,
                       const char **why);
int cpu_has_avx512(void); /* what the library uses of it */
int cpu_conv_gemm_prepare(struct cpu_conv_gemm *g, const struct cpu_dnnl *lib,
                          const struct cpu_conv_shape *s, enum cpu_conv_direction direction);
int cpu_conv_gemm_run(const struct cpu_conv_gemm *g, const struct cpu_conv_args *args);
void cpu_conv_gemm_release(struct cpu_conv_gemm *g);

#endif
