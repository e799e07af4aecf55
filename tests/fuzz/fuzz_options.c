/* The command line of `stave run` and a configuration file, read against the tables of a workload.
 * An input is words, one a line, up to an empty line; what follows is the file. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "cli/setup.h"
#include "fuzz.h"

enum { MAX_WORDS = 24, SETTINGS_BYTES = 4096 };

const char *const fuzz_words[] = {"\n",
                                  "\n\n",
                                  "--config\n",
                                  "-o",
                                  "--",
                                  "-h",
                                  "--help",
                                  ": ",
                                  "- ",
                                  "&a ",
                                  "*a",
                                  "!t ",
                                  "|\n",
                                  ">\n",
                                  "%YAML",
                                  "---\n",
                                  "...\n",
                                  "{",
                                  "}",
                                  "[",
                                  "]",
                                  "\"\\x41",
                                  "# ",
                                  "yes",
                                  "1e308",
                                  "nan",
                                  "0x1",
                                  "-1",
                                  "99999999999999999999",
                                  "K",
                                  "\xEF\xBB\xBF",
                                  "\xFF\xFE",
                                  NULL};

/* What a value is printed as reads back as the same value. */
static void check_table(const struct opt_table *t, void *settings)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        struct str text = STR_INIT, again = STR_INIT;

        opt_add_text(&t->rows[i], settings, &text);
        str_add(&text, "");
        if (opt_set(&t->rows[i], settings, text.s, "again") < 0)
            BUG("%s", err_reason());
        opt_add_text(&t->rows[i], settings, &again);
        str_add(&again, "");
        ASSERT(strcmp(text.s, again.s) == 0);
        str_release(&text);
        str_release(&again);
    }
}

static void check_setup(struct setup *s)
{
    struct str json = STR_INIT, rules = STR_INIT;
    cJSON *doc;

    command_line_add_json(&s->line, &json);
    doc = cJSON_ParseWithOpts(json.s, NULL, 1);
    ASSERT(doc && cJSON_GetArraySize(doc) == s->line.n_bound);
    cJSON_Delete(doc);
    for (int i = 0; i < s->line.n_bound; i++)
        check_table(s->line.bound[i].table, s->line.bound[i].settings);
    if (train_settings_check(&s->settings.train) < 0)
        fuzz_refused(E_USAGE);
    workload_closed_deviations(s->workload, &s->settings, &rules);
    str_release(&json);
    str_release(&rules);
}

/* Cuts text into words at the ends of its lines; returns what stands behind an empty line. */
static char *split(char *text, char **argv, int *argc)
{
    while (*text && *text != '\n' && *argc < MAX_WORDS) {
        char *const end = strchr(text, '\n');

        argv[(*argc)++] = text;
        if (!end)
            return text + strlen(text);
        *end = '\0';
        text = end + 1;
    }
    return *text == '\n' ? text + 1 : text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char own[SETTINGS_BYTES]; /* the settings of `run` itself */
    const struct command *const command = command_find("run");
    char *const text = xmalloc(n + 1), *argv[MAX_WORDS + 4], *rest, word[] = "run";
    char flag[] = "--config", *path;
    struct setup s;
    int argc = 0, rc;

    memcpy(text, data, n);
    text[n] = '\0';
    argv[argc++] = word;
    rest = split(text, argv, &argc);
    path = xstrdup(fuzz_put("x.yaml", rest, n - (size_t)(rest - text)));
    if (n % 2 || argc == 1) { /* else the words decide whether there is a file */
        argv[argc++] = flag;
        argv[argc++] = path;
    }
    argv[argc] = NULL;
    rc = setup_parse(&s, command, argc, argv, command->tables[0], own);
    if (rc == 0)
        check_setup(&s);
    else if (rc != 1 && rc != E_IO) /* a --config of its own may name no file */
        fuzz_refused(rc);
    setup_release(&s);
    free(path);
    free(text);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        "resnet50\n\nlr: 0.1\nbatch-size: 4\n",
        "resnet50\n--preset\nsample\n--lr=1e-3\n-o\nbatch_size=8\n\n# a remark\nepochs: 3\n",
        "--device\nnull\nresnet50\n-j4\n--no-such\n\n'optimizer': \"lars\"\n",
        "resnet50\n--help\n\n",
        "resnet50\n-pimagenet\n--resume\n--\n\npixel-mean: 1,2,3\n",
        "resnet50\n\n--- \nlr: |\n 0.1\n...\n",
        "resnet50\n\n{lr: 1, epochs: 2}\n",
        "resnet50\n\n- a\n- b\n",
        "resnet50\n\na: &x 1\nb: *x\n",
    };
    const struct command *const command = command_find("run");

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
    for (size_t t = 0; command->tables[t]; t++)
        for (size_t r = 0; r < command->tables[t]->n_rows; r++)
            fuzz_word(command->tables[t]->rows[r].name, strlen(command->tables[t]->rows[r].name));
    for (size_t r = 0; r < workloads[0]->options->n_rows; r++)
        fuzz_word(workloads[0]->options->rows[r].name, strlen(workloads[0]->options->rows[r].name));
}
