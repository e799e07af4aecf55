/* TFRecord files made by hand are read as TensorFlow would read them, whatever the order of keys
 * and the packing of lists; what is damaged or missing is refused in words. */
#include "hand_tfrecord.h"

#include "base/crc32c.h"
#include "base/str.h"
#include "data/source.h"
#include "data/tfrecord.h"

static struct source *open_in(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    struct source *s;

    if (source_open(path, &s) < 0)
        fail_msg("%s", err_reason());
    free(path);
    return s;
}

static int refused_in(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    struct source *s;
    const int rc = source_open(path, &s);

    assert_null(s);
    free(path);
    return rc;
}

/* RFC 3720, B.4, and "123456789" as in the catalogue of CRCs. */
static void test_checksum_is_the_published_one(void **state)
{
    uint8_t block[32];
    uint8_t long_one[1000];

    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xE3069283);
    memset(block, 0, sizeof(block));
    assert_int_equal(crc32c(0, block, sizeof(block)), 0x8A9136AA);
    memset(block, 0xFF, sizeof(block));
    assert_int_equal(crc32c(0, block, sizeof(block)), 0x62A8AB43);
    for (int i = 0; i < 32; i++)
        block[i] = (uint8_t)i;
    assert_int_equal(crc32c(0, block, sizeof(block)), 0x46DD794E);
    for (size_t i = 0; i < sizeof(long_one); i++)
        long_one[i] = (uint8_t)(i * i + 3 * i);
    for (size_t n = 0; n < 100; n++) { /* every length and alignment, in pieces, both ways */
        const uint8_t *const p = long_one + n % 9;

        assert_int_equal(crc32c(0, p, n), crc32c_tables(0, p, n));
        assert_int_equal(crc32c(crc32c(0, p, n), p + n, 77), crc32c(0, p, n + 77));
        assert_int_equal(tfrecord_sum(p, n), hand_masked_crc(p, n));
    }
}

static void add_float(struct bytes *features, const char *key)
{
    struct bytes list = {0}, feature = {0};

    hand_field(&list, 1, "\0\0\x80\x3F\0\0\0\x40", 8);
    hand_field(&feature, 2, list.data, list.n);
    hand_entry(features, key, &feature);
    bytes_release(&list);
    bytes_release(&feature);
}

static const int64_t seven = 7, minus = -3, big = INT32_MAX;

/* As ImageNet's builder writes them, some integers not packed. */
static void add_plain(struct bytes *file)
{
    static const int64_t boxes[] = {5};
    struct bytes f = {0};

    hand_numbers(&f, "image/height", HAND_PACKED, &big, 1);
    add_float(&f, "image/object/bbox/xmin");
    hand_text(&f, "image/class/synset", "n01440764", 9);
    hand_numbers(&f, "image/class/label", HAND_UNPACKED, &seven, 1);
    hand_numbers(&f, "image/object/bbox/label", HAND_PACKED, boxes, 1);
    hand_text(&f, "image/encoded", "first", 5);
    hand_text(&f, "image/filename", "image/encoded", 13);
    hand_example(file, &f);
    bytes_release(&f);
}

/* Of a key that comes twice the last one counts; a negative label. */
static void add_twice(struct bytes *file)
{
    struct bytes f = {0};

    hand_text(&f, "image/encoded", "not this", 8);
    hand_numbers(&f, "image/class/label", HAND_PACKED, &seven, 1);
    hand_text(&f, "image/encoded", "second", 6);
    hand_numbers(&f, "image/class/label", HAND_PACKED, &minus, 1);
    hand_example(file, &f);
    bytes_release(&f);
}

/* The value before its key, and fields that nobody knows, of every wire type. */
static void add_turned(struct bytes *file)
{
    struct bytes f = {0}, entry = {0}, list = {0}, feature = {0};

    hand_number(&f, 9, 300);
    hand_field(&list, 1, "third", 5);
    hand_field(&feature, 1, list.data, list.n);
    hand_field(&entry, 2, feature.data, feature.n);
    hand_field(&entry, 1, "image/encoded", 13);
    hand_field(&entry, 14, "?", 1);
    hand_field(&f, 1, entry.data, entry.n);
    hand_numbers(&f, "image/class/label", HAND_UNPACKED, &big, 1);
    hand_varint(&f, 7 << 3 | 1);
    bytes_add(&f, "12345678", 8);
    hand_varint(&f, 7 << 3 | 5);
    bytes_add(&f, "1234", 4);
    hand_example(file, &f);
    bytes_release(&f);
    bytes_release(&entry);
    bytes_release(&list);
    bytes_release(&feature);
}

/* Features in two pieces, which protobuf merges; an empty picture. */
static void add_pieces(struct bytes *file)
{
    struct bytes f = {0}, example = {0};

    hand_text(&f, "image/encoded", "", 0);
    hand_field(&example, 1, f.data, f.n);
    f.n = 0;
    hand_numbers(&f, "image/class/label", HAND_PACKED, &seven, 1);
    hand_field(&example, 1, f.data, f.n);
    hand_record(file, example.data, example.n);
    bytes_release(&f);
    bytes_release(&example);
}

static void test_any_order_and_packing(void **state)
{
    char *const dir = temp_dir();
    struct bytes file = {0};
    struct source *s;

    (void)state;
    add_plain(&file);
    add_twice(&file);
    add_turned(&file);
    add_pieces(&file);
    write_file(dir, "a.tfrecord", file.data, file.n);
    s = open_in(dir, "a.tfrecord");
    assert_string_equal(s->ops->name, "tfrecord");
    assert_int_equal(s->n_samples, 4);
    assert_int_equal(s->n_files, 1);
    check_sample(s, 0, "first", 7);
    check_sample(s, 1, "second", -3);
    check_sample(s, 2, "third", big);
    check_sample(s, 3, "", 7);
    source_close(s);
    bytes_release(&file);
    remove_dir(dir);
}

/* Opens a file with one record of these features, which can not be read for this reason. */
static void check_bad(const struct bytes *features, const char *reason)
{
    char *const dir = temp_dir();
    struct bytes file = {0};
    struct sample got = {0};
    struct source *s;
    int64_t label;

    hand_example(&file, features);
    hand_sample(&file, "good", 1);
    write_file(dir, "a.tfrecord", file.data, file.n);
    s = open_in(dir, "a.tfrecord");
    assert_int_equal(source_read(s, 0, &got), E_DATA);
    assert_reason_has(reason);
    assert_int_equal(source_label(s, 0, &label), E_DATA);
    check_sample(s, 1, "good", 1); /* it concerns one sample only */
    source_close(s);
    sample_release(&got);
    bytes_release(&file);
    remove_dir(dir);
}

static void test_what_is_missing_is_named(void **state)
{
    static const int64_t two[] = {1, 2};
    static const int64_t beyond[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT64_C(1) << 31};
    struct bytes f = {0}, none = {0};

    (void)state;
    check_bad(&f, "the tf.Example has no image/encoded");
    hand_text(&f, "image/encoded", "x", 1);
    check_bad(&f, "the tf.Example has no image/class/label");
    hand_numbers(&f, "image/class/label", HAND_PACKED, two, 2);
    check_bad(&f, "image/class/label of the tf.Example has 2 values, expected 1");
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        hand_numbers(&f, "image/class/label", HAND_PACKED, &beyond[i], 1);
        check_bad(&f, "which no data set has; expected a whole number within +-2147483647");
    }
    hand_numbers(&f, "image/class/label", HAND_UNPACKED, two, 0);
    check_bad(&f, "has 0 values");
    hand_text(&f, "image/class/label", "1", 1);
    check_bad(&f, "image/class/label of the tf.Example is no list of int64");
    hand_numbers(&f, "image/encoded", HAND_PACKED, two, 1);
    check_bad(&f, "image/encoded of the tf.Example is no list of bytes");
    hand_entry(&f, "image/encoded", &none);
    check_bad(&f, "has no image/encoded");
    f.n = 0;
    bytes_add(&f, "\x0A\x7F", 2); /* 127 bytes, it says */
    check_bad(&f, "it is no protobuf message");
    f.n = 0;
    bytes_add(&f, "\x0B", 1); /* a group */
    check_bad(&f, "it is no protobuf message");
    f.n = 0;
    bytes_add(&f, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 12);
    check_bad(&f, "it is no protobuf message");
    bytes_release(&f);
}

/* Each byte of a file of two records, changed: found when opened, in a head, or when read. */
static void test_every_changed_byte_is_found(void **state)
{
    char *const dir = temp_dir();
    struct bytes file = {0};
    struct sample got = {0};
    size_t second;

    (void)state;
    hand_sample(&file, "picture", 3);
    second = file.n;
    hand_sample(&file, "another", 4);
    for (size_t i = 0; i < file.n; i++) {
        const size_t in_record = i < second ? i : i - second;
        struct source *s;

        file.data[i] ^= 0x10;
        write_file(dir, "a.tfrecord", file.data, file.n);
        file.data[i] ^= 0x10;
        if (in_record < TFRECORD_HEAD_BYTES) {
            assert_int_equal(refused_in(dir, "a.tfrecord"), E_DATA);
            assert_reason_has(i < second ? "a.tfrecord, byte offset 0: no record is here"
                                         : "the checksum of its length is wrong");
            continue;
        }
        s = open_in(dir, "a.tfrecord");
        assert_int_equal(source_read(s, i >= second, &got), E_DATA);
        assert_reason_has("the checksum of the record's data is 0x");
        check_sample(s, i < second, i < second ? "another" : "picture", i < second ? 4 : 3);
        source_close(s);
    }
    for (size_t cut = 1; cut < file.n; cut++) {
        write_file(dir, "a.tfrecord", file.data, cut);
        if (cut == second)
            continue;
        assert_int_equal(refused_in(dir, "a.tfrecord"), E_DATA);
        assert_reason_has("byte offset ");
    }
    write_file(dir, "a.tfrecord", "", 0);
    assert_int_equal(refused_in(dir, "a.tfrecord"), E_DATA);
    assert_reason_has("holds no samples");
    write_file(dir, "a.tfrecord", "\x1F\x8B\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
    assert_int_equal(refused_in(dir, "a.tfrecord"), E_DATA);
    assert_reason_has("is compressed with gzip; unpack it first");
    sample_release(&got);
    bytes_release(&file);
    remove_dir(dir);
}

static void put(const char *dir, const char *name, const char *picture, int64_t label)
{
    struct bytes file = {0};

    hand_sample(&file, picture, label);
    write_file(dir, name, file.data, file.n);
    bytes_release(&file);
}

/* As ImageNet's records are named; in one folder with the other split's. */
static void test_sets_of_files(void **state)
{
    char *const dir = temp_dir(), *file;
    struct source *s;
    char where[512];

    (void)state;
    put(dir, "train-00000-of-00003", "a", 1);
    put(dir, "train-00002-of-00003", "c", 3);
    put(dir, "validation-00000-of-00001", "v", 9);
    put(dir, "train-00001-of-00002.txt", "no shard", 0);
    write_file(dir, "README", "x", 1);
    assert_int_equal(source_open_split(dir, "train", &s), E_DATA);
    assert_reason_has("train-00001-of-00003 of a set of 3 files is missing");
    put(dir, "train-00001-of-00003", "b", 2);
    assert_int_equal(source_open_split(dir, "train", &s), 0);
    assert_int_equal(s->n_samples, 3);
    assert_int_equal(s->n_files, 3);
    check_sample(s, 0, "a", 1);
    check_sample(s, 1, "b", 2);
    check_sample(s, 2, "c", 3);
    source_locate(s, 1, where, sizeof(where));
    assert_non_null(strstr(where, "train-00001-of-00003, byte offset 0"));
    file = source_file(s, 2);
    assert_non_null(strstr(file, "/train-00002-of-00003"));
    free(file);
    source_close(s);
    assert_int_equal(source_open_split(dir, "val", &s), 0);
    check_sample(s, 0, "v", 9);
    source_close(s);
    s = open_in(dir, "train-00001-of-00003"); /* one file of a set is a data set, too */
    check_sample(s, 0, "b", 2);
    source_close(s);
    assert_int_equal(refused_in(dir, ""), E_DATA); /* but a folder with two sets is none */
    put(dir, "train-00001-of-00004", "d", 4);
    assert_int_equal(source_open_split(dir, "train", &s), E_DATA);
    assert_reason_has("train-00001-of-00004 is none of the 3 files of the set that it stands");
    put(dir, "train.tfrecord", "alone", 5);
    assert_int_equal(source_open_split(dir, "train", &s), 0);
    check_sample(s, 0, "alone", 5);
    source_close(s);
    remove_dir(dir);
}

static void test_folders_of_files(void **state)
{
    char *const dir = temp_dir();
    struct source *s;

    (void)state;
    make_dir(dir, "train");
    put(dir, "train/x-10.tfrecord", "b", 2);
    put(dir, "train/x-2.tfrecord", "a", 1);
    write_file(dir, "train/.hidden.tfrecord", "?", 1);
    write_file(dir, "train/notes.txt", "?", 1);
    assert_int_equal(source_open_split(dir, "train", &s), 0);
    assert_string_equal(s->ops->name, "tfrecord");
    assert_int_equal(s->n_samples, 2);
    check_sample(s, 0, "a", 1);
    check_sample(s, 1, "b", 2);
    source_close(s);
    make_dir(dir, "train/class"); /* files of classes beside the classes */
    write_file(dir, "train/class/a.jpg", "x", 1);
    s = open_in(dir, "train");
    assert_string_equal(s->ops->name, "folder");
    source_close(s);
    assert_int_equal(source_open_split(dir, "val", &s), E_DATA);
    assert_reason_has("holds neither val.rec nor val.tar nor val.tfrecord");
    remove_dir(dir);
}

static void hear(void *context, enum source_remark kind, const char *text)
{
    struct str *const all = context;

    assert_int_equal(kind, SOURCE_DAMAGE);
    str_printf(all, "%s\n", text);
}

/* Somebody who listens gets the records before the damage, and those of the other files. */
static void test_damage_is_told_to_who_listens(void **state)
{
    char *const dir = temp_dir(), *const stem = file_join(dir, "t");
    struct str heard = STR_INIT;
    struct bytes file = {0};
    struct source *s;
    size_t second;

    (void)state;
    put(dir, "t-00002-of-00003", "last", 2);
    hand_sample(&file, "first", 0);
    second = file.n;
    hand_sample(&file, "lost", 1);
    file.data[second] ^= 1;
    write_file(dir, "t-00000-of-00003", file.data, file.n);
    assert_int_equal(source_open(stem, &s), E_DATA);
    assert_int_equal(source_open_heard(stem, (struct source_listener){hear, &heard}, &s), 0);
    assert_int_equal(s->n_samples, 2);
    check_sample(s, 0, "first", 0);
    check_sample(s, 1, "last", 2);
    assert_non_null(strstr(heard.s, "t-00001-of-00003 of a set of 3 files is missing"));
    assert_non_null(strstr(heard.s, "t-00000-of-00003, byte offset "));
    source_close(s);
    str_release(&heard);
    bytes_release(&file);
    free(stem);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum_is_the_published_one),
        cmocka_unit_test(test_any_order_and_packing),
        cmocka_unit_test(test_what_is_missing_is_named),
        cmocka_unit_test(test_every_changed_byte_is_found),
        cmocka_unit_test(test_sets_of_files),
        cmocka_unit_test(test_folders_of_files),
        cmocka_unit_test(test_damage_is_told_to_who_listens),
    };

    return cmocka_run_group_tests_name("tfrecord", tests, NULL, NULL);
}
