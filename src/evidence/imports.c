// SPDX-License-Identifier: Apache-2.0
#include "evidence/imports.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Hashes of lower-case words, sorted. */
struct words {
    uint64_t *items;
    size_t count, capacity;
};

struct mrg_imports {
    const struct mrg_files *files;
    struct words *words; /* one a file */
    uint64_t *stems;     /* hash of the name by which a file is imported, one a file */
    uint64_t *folders;   /* hash of its folder's name */
};

static const char *const starts[] = {
    "import", "from ",   "require", "include", "#include", "use ",   "using ",
    "mod ",   "pub mod", "pub use", "package", "export ",  "const ", "let ",
    "var ",   "extern",  "load ",   "@import", "\"",       "_ \"",   NULL,
};

/* Files that stand for their folder. */
static const char *const indexes[] = {"__init__", "index", "mod", "lib", "main", NULL};

static const char *const packaged[] = {".go", ".java", ".kt", ".cs", ".scala", ".swift", NULL};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t hash_word(struct mrg_slice word)
{
    char lower[64];
    size_t len = word.len < sizeof(lower) ? word.len : sizeof(lower);
    for (size_t i = 0; i < len; i++)
        lower[i] = (char)tolower((unsigned char)word.ptr[i]);
    return mrg_hash64(lower, len, 0);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static void add_words(struct words *words, struct mrg_slice line)
{
    for (size_t i = 0; i < line.len;) {
        size_t start = i;
        while (i < line.len && is_word(line.ptr[i]))
            i++;
        if (i > start) {
            mrg_grow((void **)&words->items, &words->capacity, words->count, sizeof(uint64_t));
            words->items[words->count++] = hash_word((struct mrg_slice){line.ptr + start, i - start});
        } else {
            i++;
        }
    }
}

static bool is_import(struct mrg_slice line)
{
    size_t blank = 0;
    while (blank < line.len && (line.ptr[blank] == ' ' || line.ptr[blank] == '\t'))
        blank++;
    struct mrg_slice rest = {line.ptr + blank, line.len - blank};
    for (const char *const *start = starts; *start; start++) {
        size_t len = strlen(*start);
        if (rest.len < len || memcmp(rest.ptr, *start, len) != 0)
            continue;
        /* Declarations count only where they require something. */
        bool declares =
            strcmp(*start, "const ") == 0 || strcmp(*start, "let ") == 0 || strcmp(*start, "var ") == 0;
        return !declares || memmem(rest.ptr, rest.len, "require(", 8) ||
               memmem(rest.ptr, rest.len, "import(", 7);
    }
    return false;
}

static void read_words(struct words *words, struct mrg_slice text)
{
    for (const char *p = text.ptr, *end = p + text.len; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        struct mrg_slice line = {p, (size_t)(stop - p)};
        if (is_import(line))
            add_words(words, line);
        p = stop + 1;
    }
    if (words->count > 0)
        qsort(words->items, words->count, sizeof(uint64_t), compare);
}

/* The base name without its ending, and the name of the folder. */
static void split(const char *name, struct mrg_slice *ret_stem, struct mrg_slice *ret_folder)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    *ret_stem = (struct mrg_slice){base, strcspn(base, ".")};
    *ret_folder = (struct mrg_slice){"", 0};
    if (!slash)
        return;
    const char *from = slash;
    while (from > name && from[-1] != '/')
        from--;
    *ret_folder = (struct mrg_slice){from, (size_t)(slash - from)};
}

struct mrg_imports *mrg_imports_new(const struct mrg_files *files)
{
    struct mrg_imports *imports = mrg_zalloc(sizeof(*imports));
    imports->files = files;
    imports->words = mrg_zalloc((files->count + 1) * sizeof(*imports->words));
    imports->stems = mrg_zalloc((files->count + 1) * sizeof(uint64_t));
    imports->folders = mrg_zalloc((files->count + 1) * sizeof(uint64_t));
    for (size_t i = 0; i < files->count; i++) {
        struct mrg_slice stem, folder;
        split(files->items[i].name, &stem, &folder);
        read_words(&imports->words[i], (struct mrg_slice){files->items[i].data, files->items[i].len});
        for (const char *const *index = indexes; *index && folder.len > 0; index++) {
            if (mrg_slice_eq_str(stem, *index))
                stem = folder;
        }
        imports->stems[i] = hash_word(stem);
        imports->folders[i] = folder.len > 0 ? hash_word(folder) : 0;
    }
    return imports;
}

void mrg_imports_free(struct mrg_imports *imports)
{
    if (!imports)
        return;
    for (size_t i = 0; i < imports->files->count; i++)
        free(imports->words[i].items);
    free(imports->words);
    free(imports->stems);
    free(imports->folders);
    free(imports);
}

static bool is_packaged(const char *name)
{
    const char *dot = strrchr(name, '.');
    for (const char *const *ending = packaged; dot && *ending; ending++) {
        if (strcmp(dot, *ending) == 0)
            return true;
    }
    return false;
}

static bool has_word(const struct words *words, uint64_t word)
{
    return word != 0 && words->count > 0 &&
           bsearch(&word, words->items, words->count, sizeof(uint64_t), compare);
}

bool mrg_imports_has(const struct mrg_imports *imports, size_t from, size_t to)
{
    const char *a = imports->files->items[from].name;
    const char *b = imports->files->items[to].name;
    if (has_word(&imports->words[from], imports->stems[to]))
        return true;
    if (!is_packaged(b))
        return false;
    if (has_word(&imports->words[from], imports->folders[to]))
        return true;
    const char *a_slash = strrchr(a, '/');
    const char *b_slash = strrchr(b, '/');
    size_t a_len = a_slash ? (size_t)(a_slash - a) : 0;
    size_t b_len = b_slash ? (size_t)(b_slash - b) : 0;
    return is_packaged(a) && a_len == b_len && memcmp(a, b, a_len) == 0;
}
