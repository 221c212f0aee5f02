/* Preconditioners by their kind; see preconditioner.h. */
#include "linear/preconditioner.h"

#define PD_DECLARE_PRECONDITIONER(KIND, name) extern const pd_preconditioner pd_##name##_preconditioner;
PD_PRECONDITIONER_TABLE(PD_DECLARE_PRECONDITIONER)
#undef PD_DECLARE_PRECONDITIONER

const pd_preconditioner *pd_preconditioner_of(int kind) {
    static const pd_preconditioner *const all[] = {
#define PD_LIST_PRECONDITIONER(KIND, name) [KIND] = &pd_##name##_preconditioner,
        PD_PRECONDITIONER_TABLE(PD_LIST_PRECONDITIONER)
#undef PD_LIST_PRECONDITIONER
    };
    return all[kind];
}

pd_status pd_preconditioned_create(pd_preconditioned *self, const pd_operator *A, const pd_linear_settings *settings) {
    self->kind = pd_preconditioner_of(settings->preconditioner);
    pd_status status = self->kind->create(&self->memory, A, settings);
    if (status)
        pd_preconditioned_destroy(self, A->context);
    else if (self->kind->inverses)
        self->inverses = self->kind->inverses(self->memory);
    return status;
}

void pd_preconditioned_destroy(pd_preconditioned *self, pd_context *context) {
    if (self->kind) self->kind->destroy(self->memory, context);
    *self = (pd_preconditioned){0};
}

pd_status pd_preconditioned_refresh(const pd_preconditioned *self, const pd_operator *A, double *indefinite) {
    return self->kind->refresh(self->memory, A, indefinite);
}
