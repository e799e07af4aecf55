/* The files of src/rules/data/. Lines; # starts a comment; words are separated by blanks; "several
 * words" in quotes are one. First the round:
 *
 *     ruleset    4.0.0
 *     from       3.1.0          all of that round, and what follows replaces or adds
 *     lines      MLLOG          or MLL (0.6), MLPv0.5.0
 *     init-limit 30             minutes; or: closed 30 open 240
 *     without    rnnt minigo    benchmarks that are gone, with their sheets
 *
 * then sections. A benchmark's facts (title, metric, target, runs, drop, evaluate, weights, note):
 *
 *     [benchmark resnet]
 *     target    0.759                       or: 0.058 or less; two numbers for two qualities
 *     evaluate  every 4 first 1..4          or: at 40 50 55; or: other WORDS
 *     weights   published                   the closed division starts from given weights
 *
 * a sheet of keys, KEY COUNT CLAUSE; CLAUSE...:
 *
 *     [closed resnet]
 *     opt_name       once  one of sgd lars; opens closed resnet
 *     eval_accuracy  some  with epoch_num; reaches >= 0.759 and < 1
 *
 * COUNT is once, some, at-least N, any, some-or KEY, one-if KEY VALUE, or `dropped`, which takes an
 * inherited key away; a line `dropped` empties the sheet. `rules KEY CLAUSE` is about a setting
 * that no log must hold. A clause is [SUBJECT] TEST [when CONDITION] [or ...]:
 *
 *     SUBJECT    the value; or NAME, a member of it, item N, length, metadata NAME, metadata NAME?,
 *                benchmark
 *     TEST       > >= < <= = X, one of X Y, not empty, multiple of X, divides X,
 *                power of two times X, whole number, is integer, is boolean, has NAME,
 *                with NAME or NAME, after KEY, before KEY, within init-limit, in-order
 *     CONDITION  global_batch_size < N, global_batch_size >= N, or the NAME of other metadata
 *     others     opens [SHEET], tensors LIST, reaches TEST and TEST, rules TEST
 *
 * `gather KEY MEMBER by NAME into KEY` makes records of several. A list of names:
 *
 *     [tensors resnet]
 *     stage{1..4}_unit1_bnsc_{gamma,beta}
 */
#ifndef STAVE_RULES_RULESET_PARSE_H
#define STAVE_RULES_RULESET_PARSE_H

#include "rules/ruleset.h"

/* Gives the text of another round; NULL: there is none. */
typedef const char *ruleset_source(const char *version);

/* Parses one file, and through `source` those it builds on. E_DATA with "NAME:LINE: ..." on a
 * mistake; *out, which ruleset_free frees, is set only on success. */
int ruleset_parse(const char *name, const char *text, ruleset_source *source, struct ruleset **out);
void ruleset_free(struct ruleset *r);

#endif
