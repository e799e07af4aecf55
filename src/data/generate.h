/* A stand-in for ImageNet for those who have none: photograph-like JPEG files whose sizes, bytes
 * and chroma sampling are spread as ImageNet's are, cut from photographs that are there. It is for
 * measuring how fast disks, decoders and pipelines are; labels say nothing about pictures, so
 * nothing can be learnt from it.
 *
 * What is known of ImageNet (ILSVRC 2012), and from where:
 * - sizes: of the 50,000 validation pictures, one by one (clovaai/wsolevaluation,
 *   metadata/ILSVRC/test/image_sizes.txt): 231,326 pixels on average, 31 % are 500 x 375, 85 % are
 *   500 long, 8.8 % longer;
 * - bytes: ILSVRC2012_img_train.tar is 147,897,477,120 bytes with 1,281,167 files and
 *   ILSVRC2012_img_val.tar 6,744,924,160 with 50,000: without tar's headers and padding 114,660 and
 *   134,130 bytes a file (MLPerf Storage has 114,660.07). So validation has 4.64 bits per pixel;
 * - chroma: "the vast majority" is colour, "not chroma subsampled" and of quality 96 (M. Ehrlich,
 *   Compression in the ImageNet Dataset, 2021), without numbers;
 * - grey: 1,821 of 100,000 training pictures (Tiny ImageNet, which is cut from them);
 * - 22 or 23 files are CMYK, one is a PNG.
 *
 * What no source was found for, and what is done instead: sizes of the training pictures one by one
 * (validation's, with fewer of the pictures longer than 500 pixels, so that 4.64 bits per pixel
 * give the bytes known; their mean is then 468 x 412, where 469 x 387 is reported for ImageNet);
 * how bits per pixel are spread (log-normal, sigma 0.4) and their dependence on size (none); the
 * shares of 4:2:0 and 4:2:2 (14 % and 2 %). How many are progressive is not known: none is.
 * CMYK and PNG would be one sample of 58,000: none is. */
#ifndef STAVE_DATA_GENERATE_H
#define STAVE_DATA_GENERATE_H

#include "data/prepare.h"

struct prepare_like {
    const char *name;   /* of what is imitated: "imagenet" is known */
    const char *to;     /* gets train.rec, train.idx, val.rec, val.idx, dataset.json */
    const char *photos; /* a folder, looked through with all below it; NULL: where packages of
                           Debian and Ubuntu put wallpapers */
    uint64_t n_train;   /* as many again / 25.6 for validation, as ImageNet has it */
    uint64_t seed;
    int n_threads; /* 0: as many as there are processors to use */
    struct prepare_progress progress;
};

/* A split that is there whole, from the same photographs, count and seed, is left alone; a run cut
 * short goes on with the next split. E_USAGE when the folder holds another data set or the name is
 * not known. */
int prepare_like(struct prepare_like p, struct prepare_result *out);

#endif
