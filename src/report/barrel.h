/* The staves of a run: what each stage could do alone and the level that they held together, drawn
 * as a barrel. From profile.json, where every stage was measured alone, or else estimated from what
 * the run itself counted:
 *     a loader stage   threads * samples / busy seconds     (stages.csv)
 *     copy, compute    samples / busy seconds               (stages.csv)
 *     loader           threads * samples / busy seconds of its stages together
 *     model            samples / (training - waiting for data)   (result.json)
 *     level            samples / training
 * Which stave is the shortest is verdict.h's to say. */
#ifndef STAVE_REPORT_BARREL_H
#define STAVE_REPORT_BARREL_H

#include "report/folder.h"
#include "verdict/verdict.h"

enum barrel_source { BARREL_NONE, BARREL_MEASURED, BARREL_ESTIMATED };

struct barrel {
    enum barrel_source source;
    const char *unit;             /* "images"; the folder's */
    double alone[N_STAGE_STAVES]; /* samples per second; 0: not known */
    double loader, device, level; /* 0: not known */
    enum stave shortest;
    int balanced;
    struct str words; /* the verdict's sentences, a line each */
};

/* The unit of a run's samples. */
const char *barrel_unit(const struct folder *f);
void barrel_find(const struct folder *f, struct barrel *b);
void barrel_release(struct barrel *b);
/* The drawing, its table and the words, as HTML. */
void barrel_add(const struct barrel *b, struct str *out);

/* Within the module: the drawing alone, SVG. */
void barrel_draw(const struct barrel *b, struct str *out);

#endif
