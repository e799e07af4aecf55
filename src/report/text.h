/* Numbers as people read them, and text as HTML takes it. Everything that came from a file goes
 * through text_add: the name of a folder may hold markup, quotes, control characters or bytes that
 * are not UTF-8. */
#ifndef STAVE_REPORT_TEXT_H
#define STAVE_REPORT_TEXT_H

#include "base/str.h"

/* Appends s with & < > " ' as references; control characters and bytes that are not UTF-8 as \xNN.
 * Right in an element and in an attribute with quotes. NULL is nothing. */
void text_add(struct str *out, const char *s);
/* Appends a JSON document for a script element: no '<' can end it early. */
void text_add_script_json(struct str *out, const char *json);
/* "1,245", "4.39", "0.082"; a dash where it is not known. */
void text_add_number(struct str *out, double v);
/* "1 h 12 min", "3 min 12 s", "12.3 s", "850 ms" */
void text_add_seconds(struct str *out, double s);
/* "1.05 GB": powers of 1000. */
void text_add_bytes(struct str *out, double n);
void text_add_percent(struct str *out, double ratio); /* 0.814 is "81.4 %" */
/* A value by the unit that ends its name: epoch_seconds, cpu_process_percent, memory_anon_bytes,
 * disk_read_bytes_per_s, disk_read_await_ms, run_ns; others as a number. */
void text_add_by_unit(struct str *out, const char *name, double v);
/* A column's name for people: "cpu process" of cpu_process_percent; its unit goes to *unit. */
void text_add_label(struct str *out, const char *column, const char **unit);

#endif
