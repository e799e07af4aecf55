/* What the data layer is made of, one macro a line: include it with the macros wanted defined.
 * SOURCE(name): a kind of data set, source_NAME in a file of its own; probed in this order.
 * SINK(name): a format that prepare writes, sink_NAME.
 * READER(name, text): a way to read samples, reader_NAME; text is what a person calls it.
 * CODEC(name): an image format, codec_NAME; told apart by the first bytes of the content.
 * STAGE(name): a step of the pipeline, in the order a sample passes them, stage_NAME.
 * TRAIT(name): what a picture has that a baseline JPEG in RGB, upright and of 8 bits, has not,
 * TRAIT_NAME; decode.h says what becomes of it. */
#ifndef SOURCE
#define SOURCE(name)
#endif
#ifndef SINK
#define SINK(name)
#endif
#ifndef READER
#define READER(name, text)
#endif
#ifndef CODEC
#define CODEC(name)
#endif
#ifndef STAGE
#define STAGE(name)
#endif
#ifndef TRAIT
#define TRAIT(name)
#endif

SOURCE(recordio)
SOURCE(tfrecord)
SOURCE(webdataset)
SOURCE(mnist)
SOURCE(folder)

SINK(recordio)
SINK(tfrecord)
SINK(webdataset)
SINK(folder)

READER(pread, "pread")
READER(direct, "direct")
READER(uring, "uring")
READER(uring_direct, "uring-direct")
READER(dontcache, "dontcache")
READER(evict, "evict")

CODEC(jpeg)
CODEC(png)
CODEC(pgm)
CODEC(ppm)

STAGE(read)
STAGE(decode)
STAGE(augment)

TRAIT(grey)
TRAIT(cmyk)
TRAIT(alpha)
TRAIT(deep)
TRAIT(png)
TRAIT(exif)
TRAIT(progressive)
TRAIT(arithmetic)

#undef SOURCE
#undef SINK
#undef READER
#undef CODEC
#undef STAGE
#undef TRAIT
