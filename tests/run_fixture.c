#include "run_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/random.h"
#include "data/jpeg_encode.h"
#include "data/recordio_writer.h"

static const int64_t patience_ns = 60000000000;

/* The brightness tells the class; the noise tells the pictures apart. */
static void make_picture(int label, uint64_t id, int size, struct bytes *out)
{
    const struct random_key key = {id, RANDOM_TEST, (uint64_t)label};
    uint8_t *const px = xmalloc((size_t)size * (size_t)size);

    for (int i = 0; i < size * size; i++)
        px[i] = (uint8_t)(30 + 80 * label + 30 * random_uniform(key, (uint64_t)i));
    assert_int_equal(jpeg_encode((struct jpeg_picture){px, size, size, 1, 0, JPEG_420}, out), 0);
    free(px);
}

void run_data(const char *dir, const char *split, int n, const enum run_damage *damage)
{
    char *const prefix = file_join(dir, split);
    struct recordio_writer *w;
    struct recordio_totals totals;
    struct bytes jpeg = {0};

    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (int i = 0; i < n; i++) {
        const enum run_damage d = damage ? damage[i] : DAMAGE_NONE;
        const int label = i % RUN_CLASSES, shown = d == DAMAGE_OTHER ? i + 1 : i;
        jpeg.n = 0;
        make_picture(shown % RUN_CLASSES, random_name(split) + (uint64_t)shown,
                     d == DAMAGE_LARGE ? 64 : 28, &jpeg);
        assert_int_equal(
            recordio_writer_add(
                w, (struct recordio_entry){.label = d == DAMAGE_LABEL ? 77 : (float)label,
                                           .id = (uint64_t)i,
                                           .payload = jpeg.data,
                                           .n = d == DAMAGE_EMPTY ? 0
                                                : d == DAMAGE_CUT ? 60
                                                                  : jpeg.n}),
            0);
    }
    assert_int_equal(recordio_writer_commit(w, &totals), 0);
    bytes_release(&jpeg);
    free(prefix);
}

/* Comment segments behind the mark that begins a picture (ITU-T T.81, B.2.4.5). */
static void add_comments(const struct bytes *jpeg, size_t n, struct bytes *out)
{
    enum { SEGMENT = 60000 };
    static const uint8_t head[4] = {0xff, 0xfe, SEGMENT >> 8, SEGMENT & 0xff};

    out->n = 0;
    bytes_add(out, jpeg->data, 2);
    while (out->n < n) {
        bytes_add(out, head, sizeof(head));
        bytes_resize(out, out->n + SEGMENT - 2);
        memset(out->data + out->n - (SEGMENT - 2), 'c', SEGMENT - 2);
    }
    bytes_add(out, jpeg->data + 2, jpeg->n - 2);
}

void run_large_data(const char *dir, const char *split, int n, size_t size)
{
    char *const prefix = file_join(dir, split);
    struct recordio_writer *w;
    struct recordio_totals totals;
    struct bytes jpeg = {0}, large = {0};

    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (int i = 0; i < n; i++) {
        jpeg.n = 0;
        make_picture(i % RUN_CLASSES, (uint64_t)i, 28, &jpeg);
        add_comments(&jpeg, size, &large);
        assert_int_equal(
            recordio_writer_add(w, (struct recordio_entry){.label = (float)(i % RUN_CLASSES),
                                                           .id = (uint64_t)i,
                                                           .payload = large.data,
                                                           .n = large.n}),
            0);
    }
    assert_int_equal(recordio_writer_commit(w, &totals), 0);
    bytes_release(&jpeg);
    bytes_release(&large);
    free(prefix);
}

/* The child: nothing of the test's may survive in it but its stdin. */
static _Noreturn void become(const char *said, long file_bytes, int stdin_fd, char **argv)
{
    const int in = stdin_fd >= 0 ? stdin_fd : open("/dev/null", O_RDONLY);
    const int out = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (file_bytes)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)file_bytes, (rlim_t)file_bytes});
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    execv(argv[0], argv);
    _exit(127);
}

struct program program_start(const char *dir, long file_bytes, int stdin_fd, const char *words)
{
    struct program p = {.said = file_join(dir, "said")};
    char *const copy = xasprintf("%s/stave %s", STAVE_BUILD, words), *save = NULL;
    char *argv[64];
    int n = 0;

    for (char *w = strtok_r(copy, " ", &save); w && n < 63; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    argv[n] = NULL;
    fflush(NULL);
    p.pid = fork();
    assert_true(p.pid >= 0);
    if (p.pid == 0)
        become(p.said, file_bytes, stdin_fd, argv);
    free(copy);
    return p;
}

int program_wait(struct program p, char **text)
{
    int status;
    size_t n;

    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    assert_int_equal(file_read(p.said, 1 << 24, text, &n), 0);
    free(p.said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

char *program_run(const char *dir, int expected, const char *fmt, ...)
{
    char words[2048], *text;
    va_list args;
    int code;

    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    code = program_wait(program_start(dir, 0, -1, words), &text);
    if (code != expected)
        fail_msg("stave %s ends with %d, not %d, and says: %s", words, code, expected, text);
    return text;
}

void wait_for_text(const char *path, const char *text)
{
    const int64_t end = clock_ns() + patience_ns;
    char *bytes;
    size_t n;

    while (clock_ns() < end) {
        if (file_exists(path) && file_read(path, 1 << 24, &bytes, &n) == 0) {
            const int found = strstr(bytes, text) != NULL;
            free(bytes);
            if (found)
                return;
        }
        usleep(2000);
    }
    fail_msg("%s does not say \"%s\" within a minute", path, text);
}

char *read_text(const char *dir, const char *name)
{
    char *const path = file_join(dir, name), *text;
    size_t n;

    if (file_read(path, 1 << 24, &text, &n) < 0)
        fail_msg("%s", err_reason());
    free(path);
    return text;
}

cJSON *read_json(const char *dir, const char *name)
{
    char *const text = read_text(dir, name);
    cJSON *const doc = cJSON_ParseWithOpts(text, NULL, 1);

    if (!doc)
        fail_msg("%s/%s is not JSON: %s", dir, name, text);
    free(text);
    return doc;
}

cJSON *read_lines(const char *dir, const char *name)
{
    static const char prefix[] = ":::MLLOG ";
    char *const text = read_text(dir, name), *save = NULL;
    cJSON *const all = cJSON_CreateArray();

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const size_t skip = strncmp(line, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
        cJSON *const one = cJSON_ParseWithOpts(line + skip, NULL, 1);
        if (!one || !string_of(one, "key"))
            fail_msg("%s/%s holds a line that is no event: %s", dir, name, line);
        cJSON_AddItemToArray(all, one);
    }
    free(text);
    return all;
}

int count_key(const cJSON *lines, const char *key, const cJSON **last)
{
    const cJSON *line;
    int n = 0;

    if (last)
        *last = NULL;
    cJSON_ArrayForEach(line, lines)
    {
        if (strcmp(string_of(line, "key"), key) != 0)
            continue;
        n++;
        if (last)
            *last = line;
    }
    return n;
}

double number_of(const cJSON *object, const char *name)
{
    const cJSON *const v = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

const char *string_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("expected \"%s\" in: %s", part, text);
}

double result_of(const char *dir, const char *name, const char *key)
{
    char *const folder = file_join(dir, name);
    cJSON *const doc = read_json(folder, "result.json");
    const double v = number_of(doc, key);

    cJSON_Delete(doc);
    free(folder);
    return v;
}

void assert_same_file(const char *dir, const char *a, const char *b)
{
    char *const pa = file_join(dir, a), *const pb = file_join(dir, b);
    char *ta, *tb;
    size_t na, nb;

    assert_int_equal(file_read(pa, (size_t)1 << 30, &ta, &na), 0);
    assert_int_equal(file_read(pb, (size_t)1 << 30, &tb, &nb), 0);
    assert_int_equal(na, nb);
    if (memcmp(ta, tb, na) != 0)
        fail_msg("%s and %s differ", a, b);
    free(pa);
    free(pb);
    free(ta);
    free(tb);
}
