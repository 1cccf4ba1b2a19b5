// SPDX-License-Identifier: Apache-2.0
#include "evidence/leave_out.h"

#include <fnmatch.h>
#include <string.h>

#include "util/utf8.h"

#define MINIFIED_MIN  2000 /* bytes; shorter scripts in one line are somebody's own */
#define MINIFIED_LINE 500  /* bytes of an average line of a minified script */
#define WRONG_BYTES   20   /* one wrong byte in so many, and a file is no text */

struct by_name {
    const char *pattern; /* fnmatch */
    const char *why;
};

/* A folder that is left out only where one of the marks stands beside it. */
struct by_mark {
    const char *name;
    const char *why;
    const char *marks[9]; /* fnmatch, NULL-terminated */
};

/* clang-format off */
static const char *const vendored_folders[] = {
    "node_modules", "bower_components", "jspm_packages", "site-packages", "dist-packages", "third_party",
    "third-party", "thirdparty", "venv", "virtualenv", "Pods", "Carthage", NULL,
};

static const char *const test_folders[] = {
    "test", "tests", "__tests__", "spec", "specs", "testdata", "test-data", "test_data", "testing", "e2e",
    "__mocks__", "__fixtures__", "__snapshots__", "integration-tests", "integration_tests", "unit_tests",
    "androidTest", NULL,
};

static const struct by_mark marked_folders[] = {
    {"vendor", "vendored",
     {"go.mod", "composer.json", "Gemfile", "package.json", "Cargo.toml", "CMakeLists.txt", "meson.build",
      "Makefile", NULL}},
    {"target", "build output", {"Cargo.toml", "pom.xml", "build.sbt", NULL}},
    {"build", "build output",
     {"build.gradle", "build.gradle.kts", "setup.py", "pyproject.toml", "package.json", "CMakeLists.txt",
      "meson.build", NULL}},
    {"dist", "build output", {"package.json", "setup.py", "pyproject.toml", "tsconfig.json", NULL}},
    {"out", "build output", {"package.json", "build.gradle", "tsconfig.json", NULL}},
    {"bin", "build output", {"*.csproj", "*.fsproj", ".classpath", NULL}},
    {"obj", "build output", {"*.csproj", "*.fsproj", NULL}},
    {"coverage", "build output", {"package.json", NULL}},
};

static const struct by_name files[] = {
    {"*.lock", "lock file"}, {"package-lock.json", "lock file"}, {"npm-shrinkwrap.json", "lock file"},
    {"pnpm-lock.yaml", "lock file"}, {"go.sum", "lock file"}, {"go.work.sum", "lock file"},
    {"bun.lockb", "lock file"}, {"gradle.lockfile", "lock file"}, {"packages.lock.json", "lock file"},
    {"*.min.js", "minified"}, {"*.min.mjs", "minified"}, {"*.min.css", "minified"},
    {"*.bundle.js", "minified"}, {"*.js.map", "minified"}, {"*.css.map", "minified"},
    {"*_pb2.py", "generated"}, {"*_pb2.pyi", "generated"}, {"*_pb2_grpc.py", "generated"},
    {"*.pb.go", "generated"}, {"*_pb.js", "generated"}, {"*_pb.d.ts", "generated"},
    {"*.pb.cc", "generated"}, {"*.pb.h", "generated"}, {"*.pb-c.c", "generated"}, {"*.pb-c.h", "generated"},
    {"*.pem", "key material"}, {"*.key", "key material"}, {"*.p12", "key material"},
    {"*.pfx", "key material"}, {"*.jks", "key material"}, {"id_rsa*", "key material"},
    {"id_ed25519*", "key material"}, {"*.svg", "picture"}, {"*~", "backup"}, {"*.bak", "backup"},
    {"*.orig", "backup"}, {"*.swp", "backup"},
};

static const char *const test_files[] = {
    "test_*.py", "*_test.py", "conftest.py", "*_test.go", "*.test.js", "*.test.jsx", "*.test.ts",
    "*.test.tsx", "*.test.mjs", "*.test.cjs", "*.spec.js", "*.spec.jsx", "*.spec.ts", "*.spec.tsx",
    "*.spec.mjs", "*.spec.cjs", "*Test.java", "*Tests.java", "*Test.kt", "*Tests.kt", "*Tests.cs",
    "*Test.cs", "*Test.php", "*_spec.rb", "*_test.rb", "*Spec.scala", "*_test.c", "test_*.c", "*_test.cc",
    "*_test.cpp", "test_*.cpp", "*_test.rs", "jest.config.*", "karma.conf.js", "phpunit.xml*", "*.snap",
    NULL,
};

/* clang-format on */

static bool in_list(const char *const *list, const char *name)
{
    for (; *list; list++) {
        if (strcmp(*list, name) == 0)
            return true;
    }
    return false;
}

static bool fits_one(const char *const *patterns, const char *name)
{
    for (; *patterns; patterns++) {
        if (fnmatch(*patterns, name, 0) == 0)
            return true;
    }
    return false;
}

static const char *marked_folder(const char *name, bool top, const struct mrg_siblings *siblings)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(marked_folders); i++) {
        const struct by_mark *folder = &marked_folders[i];
        if (strcmp(folder->name, name) != 0)
            continue;
        if (top && strcmp(name, "vendor") == 0)
            return folder->why;
        for (size_t k = 0; k < siblings->count; k++) {
            if (fits_one(folder->marks, siblings->names[k]))
                return folder->why;
        }
    }
    return NULL;
}

const char *mrg_leave_out_folder(const char *name, bool top, bool code, const struct mrg_siblings *siblings)
{
    if (name[0] == '.')
        return "hidden";
    if (in_list(vendored_folders, name))
        return "vendored";
    if (strcmp(name, "__pycache__") == 0 || fnmatch("*.egg-info", name, 0) == 0 ||
        strcmp(name, "htmlcov") == 0)
        return "build output";
    if (code && in_list(test_folders, name))
        return "tests";
    return marked_folder(name, top, siblings);
}

const char *mrg_leave_out_file(const char *name, bool code)
{
    if (name[0] == '.')
        return "hidden";
    for (size_t i = 0; i < MRG_ARRAY_LEN(files); i++) {
        if (fnmatch(files[i].pattern, name, 0) == 0)
            return files[i].why;
    }
    if (code && fits_one(test_files, name))
        return "test";
    return NULL;
}

static bool is_binary(struct mrg_slice data)
{
    if (memchr(data.ptr, '\0', data.len))
        return true;
    size_t wrong = 0;
    const char *end = data.ptr + data.len;
    for (const char *p = data.ptr; p < end;) {
        size_t len = mrg_utf8_len(p, end);
        wrong += len == 0;
        p += len > 0 ? len : 1;
    }
    return wrong > data.len / WRONG_BYTES;
}

static bool is_minified(const char *name, struct mrg_slice data)
{
    static const char *const scripts[] = {"*.js", "*.mjs", "*.cjs", "*.css", NULL};
    if (data.len < MINIFIED_MIN || !fits_one(scripts, name))
        return false;
    size_t lines = 1;
    for (size_t i = 0; i < data.len; i++)
        lines += data.ptr[i] == '\n';
    return data.len / lines > MINIFIED_LINE;
}

const char *mrg_leave_out_content(const char *name, struct mrg_slice data)
{
    size_t blank = 0;
    while (blank < data.len && strchr(" \t\r\n", data.ptr[blank]) && data.ptr[blank] != '\0')
        blank++;
    if (blank == data.len)
        return "empty";
    if (is_binary(data))
        return "binary";
    return is_minified(name, data) ? "minified" : NULL;
}
