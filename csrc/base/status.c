/* The text of an error; see status.h. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

pd_status pd_fail(pd_error *error, pd_status status, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
