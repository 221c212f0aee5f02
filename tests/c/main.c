/* Runs the test of the C interface that is named: c_tests NAME; without a name all of them. */
#include "check.h"

#include <stdarg.h>

typedef struct test {
    const char *name;
    void (*run)(void);
} test;

_Noreturn void fail_at(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

int main(int n, char **arguments) {
#define ENTRY(name) {#name, test_##name},
    static const test tests[] = {TESTS(ENTRY)};
#undef ENTRY
    int ran = 0;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (n > 1 && strcmp(arguments[1], tests[i].name) != 0) continue;
        tests[i].run();
        ran++;
    }
    if (!ran) fprintf(stderr, "there is no test %s\n", arguments[1]);
    return !ran;
}
