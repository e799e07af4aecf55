/* Photographs for the tests of the generator, made here: noise whose spectrum falls with frequency
 * as that of photographs does. */
#ifndef STAVE_TESTS_GENERATE_FIXTURE_H
#define STAVE_TESTS_GENERATE_FIXTURE_H

#include "test_data_fixture.h"

#include "base/random.h"

/* A value of a lattice with this distance between its points, between them a straight line. */
UNUSED_FUNCTION double lattice(uint64_t seed, double x, double y)
{
    const uint64_t i = (uint64_t)x, j = (uint64_t)y;
    const double fx = x - (double)i, fy = y - (double)j;
    double corner[4];

    for (uint64_t k = 0; k < 4; k++)
        corner[k] = (double)(random_mix(seed ^ random_mix((j + k / 2) << 32 | (i + k % 2))) >> 11) *
                    0x1p-53;
    return (corner[0] * (1 - fx) + corner[1] * fx) * (1 - fy) +
           (corner[2] * (1 - fx) + corner[3] * fx) * fy;
}

/* Octaves, each half as strong as the next coarser one. */
UNUSED_FUNCTION uint8_t *photo_new(int width, int height, uint64_t seed)
{
    uint8_t *const px = xmalloc((size_t)width * (size_t)height * 3);

    for (int i = 0; i < width * height * 3; i++) {
        const int x = i / 3 % width, y = i / 3 / width;
        double sum = 0.0;

        for (int step = 128, weight = 128; step >= 1; step /= 4, weight /= 3)
            sum +=
                weight * lattice(seed * 16 + (uint64_t)(i % 3), (double)x / step, (double)y / step);
        px[i] = (uint8_t)(sum < 255.0 ? sum : 255.0);
    }
    return px;
}

UNUSED_FUNCTION void write_photo(const char *dir, const char *name, int width, int height, int seed)
{
    uint8_t *const px = photo_new(width, height, (uint64_t)seed);
    struct bytes file = {0};

    make_jpeg(&plain_jpeg, px, width, height, &file);
    write_file(dir, name, file.data, file.n);
    bytes_release(&file);
    free(px);
}

/* Three photographs, one of them in a folder below. */
UNUSED_FUNCTION char *photo_dir(void)
{
    char *const dir = temp_dir();

    make_dir(dir, "below/it");
    write_photo(dir, "b.jpg", 640, 420, 1);
    write_photo(dir, "a", 420, 640, 2);
    write_photo(dir, "below/it/c.jpeg", 800, 600, 3);
    return dir;
}

#endif
