#include "data/example.h"

#include <string.h>

#include "base/err.h"

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* Field numbers of the messages. */
enum { FEATURES = 1, ENTRY = 1, KEY = 1, VALUE = 2, BYTES_LIST = 1, INT64_LIST = 3, ELEMENT = 1 };

/* What is left of a message. */
struct message {
    const uint8_t *p, *end;
};

struct field {
    uint64_t number;
    enum wire wire;
    uint64_t value;      /* of WIRE_VARINT */
    struct message body; /* of WIRE_BYTES */
};

static const char *const damaged = "the tf.Example is damaged: it is no protobuf message";

static int take_varint(struct message *m, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && m->p < m->end; shift += 7) {
        const uint8_t byte = *m->p++;

        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return 0;
    }
    return err(E_DATA, "%s", damaged);
}

static int take_bytes(struct message *m, uint64_t n, struct message *out)
{
    if (n > (uint64_t)(m->end - m->p))
        return err(E_DATA, "%s", damaged);
    *out = (struct message){m->p, m->p + n};
    m->p += n;
    return 0;
}

/* The next field: 1, and at the end 0. */
static int take_field(struct message *m, struct field *f)
{
    uint64_t tag;

    if (m->p == m->end)
        return 0;
    TRY(take_varint(m, &tag));
    f->number = tag >> 3;
    f->wire = (enum wire)(tag & 7);
    f->value = 0;
    if (f->wire == WIRE_VARINT) {
        TRY(take_varint(m, &f->value));
    } else if (f->wire == WIRE_BYTES) {
        TRY(take_varint(m, &f->value));
        TRY(take_bytes(m, f->value, &f->body));
    } else if (f->wire == WIRE_64 || f->wire == WIRE_32) {
        TRY(take_bytes(m, f->wire == WIRE_64 ? 8 : 4, &f->body));
    } else {
        return err(E_DATA, "%s", damaged);
    }
    return f->number ? 1 : err(E_DATA, "%s", damaged);
}

/* What was met of the two features that are wanted. */
struct feature {
    uint64_t list; /* BYTES_LIST, ...; 0: not there, or without a list */
    uint64_t n;    /* values */
    uint64_t number;
    struct message body;
};

static int take_int64s(struct message list, struct feature *out)
{
    struct field f;
    int rc;

    while ((rc = take_field(&list, &f)) > 0) {
        if (f.number != ELEMENT)
            continue;
        if (f.wire == WIRE_VARINT) {
            out->number = f.value;
            out->n++;
        }
        while (f.wire == WIRE_BYTES && f.body.p < f.body.end) { /* packed */
            TRY(take_varint(&f.body, &out->number));
            out->n++;
        }
    }
    return rc;
}

static int take_byte_strings(struct message list, struct feature *out)
{
    struct field f;
    int rc;

    while ((rc = take_field(&list, &f)) > 0)
        if (f.number == ELEMENT && f.wire == WIRE_BYTES) {
            out->body = f.body;
            out->n++;
        }
    return rc;
}

static int take_feature(struct message m, struct feature *out)
{
    struct field f;
    int rc;

    *out = (struct feature){0};
    while ((rc = take_field(&m, &f)) > 0) {
        if (f.wire != WIRE_BYTES)
            continue;
        if (f.number != out->list) /* of a oneof the last one counts */
            *out = (struct feature){.list = f.number};
        if (f.number == BYTES_LIST)
            TRY(take_byte_strings(f.body, out));
        if (f.number == INT64_LIST)
            TRY(take_int64s(f.body, out));
    }
    return rc;
}

static int is_key(struct message key, const char *name)
{
    const size_t n = strlen(name);

    return (size_t)(key.end - key.p) == n && memcmp(key.p, name, n) == 0;
}

struct wanted {
    struct feature picture, label;
};

static int take_entry(struct message m, struct wanted *out)
{
    struct message key = {0}, value = {0};
    struct field f;
    int rc;

    while ((rc = take_field(&m, &f)) > 0) {
        if (f.wire == WIRE_BYTES && f.number == KEY)
            key = f.body;
        if (f.wire == WIRE_BYTES && f.number == VALUE)
            value = f.body;
    }
    TRY(rc);
    if (is_key(key, EXAMPLE_PICTURE))
        return take_feature(value, &out->picture);
    if (is_key(key, EXAMPLE_LABEL))
        return take_feature(value, &out->label);
    return 0;
}

static int take_entries(struct message m, struct wanted *out)
{
    struct field f;
    int rc;

    while ((rc = take_field(&m, &f)) > 0)
        if (f.wire == WIRE_BYTES && f.number == ENTRY)
            TRY(take_entry(f.body, out));
    return rc;
}

static int check(const struct feature *f, const char *name, uint64_t list)
{
    const char *const type = list == BYTES_LIST ? "bytes" : "int64";

    if (f->list == 0)
        return err(E_DATA, "the tf.Example has no %s", name);
    if (f->list != list)
        return err(E_DATA, "%s of the tf.Example is no list of %s", name, type);
    if (f->n != 1)
        return err(E_DATA, "%s of the tf.Example has %llu values, expected 1", name,
                   (unsigned long long)f->n);
    return 0;
}

int example_read(const uint8_t *bytes, size_t n, struct example *out)
{
    struct message m = {bytes, bytes + n};
    struct wanted w = {0};
    struct field f;
    int rc;

    while ((rc = take_field(&m, &f)) > 0)
        if (f.wire == WIRE_BYTES && f.number == FEATURES)
            TRY(take_entries(f.body, &w));
    TRY(rc);
    TRY(check(&w.picture, EXAMPLE_PICTURE, BYTES_LIST));
    out->picture = w.picture.body.p;
    out->n = (size_t)(w.picture.body.end - w.picture.body.p);
    TRY(check(&w.label, EXAMPLE_LABEL, INT64_LIST));
    out->label = (int64_t)w.label.number;
    return 0;
}

/* ---- writing ---- */

static size_t varint_bytes(uint64_t v)
{
    size_t n = 1;

    while (v >>= 7)
        n++;
    return n;
}

static void put_varint(struct bytes *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        bytes_add(out, &(uint8_t){(uint8_t)(v | 0x80)}, 1);
    bytes_add(out, &(uint8_t){(uint8_t)v}, 1);
}

static size_t block_bytes(size_t n)
{
    return 1 + varint_bytes(n) + n;
}

/* Tag and length of a field whose n bytes follow. */
static void put_head(struct bytes *out, uint64_t number, size_t n)
{
    put_varint(out, number << 3 | WIRE_BYTES);
    put_varint(out, n);
}

/* One entry of the map, or only its size: out NULL. */
struct entry {
    const char *key;
    uint64_t list;
    const void *bytes; /* of BYTES_LIST */
    size_t n;
    uint64_t number; /* of INT64_LIST */
};

static size_t list_bytes(const struct entry *e)
{
    return block_bytes(e->list == BYTES_LIST ? e->n : varint_bytes(e->number));
}

static size_t entry_bytes(const struct entry *e)
{
    return block_bytes(strlen(e->key)) + block_bytes(block_bytes(list_bytes(e)));
}

static void put_entry(struct bytes *out, const struct entry *e)
{
    const size_t list = list_bytes(e);

    put_head(out, ENTRY, entry_bytes(e));
    put_head(out, KEY, strlen(e->key));
    bytes_add(out, e->key, strlen(e->key));
    put_head(out, VALUE, block_bytes(list));
    put_head(out, e->list, list);
    if (e->list == BYTES_LIST) {
        put_head(out, ELEMENT, e->n);
        bytes_add(out, e->bytes, e->n);
    } else {
        put_head(out, ELEMENT, varint_bytes(e->number)); /* packed */
        put_varint(out, e->number);
    }
}

static struct entry text_entry(const char *key, const char *text)
{
    return (struct entry){
        .key = key, .list = BYTES_LIST, .bytes = text, .n = text ? strlen(text) : 0};
}

static struct entry number_entry(const char *key, int64_t number)
{
    return (struct entry){.key = key, .list = INT64_LIST, .number = (uint64_t)number};
}

void example_write(const struct example *e, struct bytes *out)
{
    struct entry all[6];
    size_t n = 0, total = 0;

    all[n++] = number_entry(EXAMPLE_LABEL, e->label);
    if (e->class_name)
        all[n++] = text_entry("image/class/synset", e->class_name);
    all[n++] =
        (struct entry){.key = EXAMPLE_PICTURE, .list = BYTES_LIST, .bytes = e->picture, .n = e->n};
    if (e->format)
        all[n++] = text_entry("image/format", e->format);
    if (e->height)
        all[n++] = number_entry("image/height", e->height);
    if (e->width)
        all[n++] = number_entry("image/width", e->width);
    for (size_t i = 0; i < n; i++)
        total += block_bytes(entry_bytes(&all[i]));
    put_head(out, FEATURES, total);
    for (size_t i = 0; i < n; i++)
        put_entry(out, &all[i]);
}
