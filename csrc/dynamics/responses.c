/* The list of all responses of contact; see responses.h. */
#include "dynamics/responses.h"

#include "contact/potential/contact.h"

#define PD_DECLARE_RESPONSE(response) extern const pd_contact_response response;
PD_RESPONSE_TABLE(PD_DECLARE_RESPONSE)
#undef PD_DECLARE_RESPONSE

static const pd_contact_response *const responses[] = {
#define PD_LIST_RESPONSE(response) &response,
    PD_RESPONSE_TABLE(PD_LIST_RESPONSE)
#undef PD_LIST_RESPONSE
};

static const pd_contact_response nothing_touches = {.name = "none"};

static pd_status not_both(pd_error *error, const char *one, const char *other) {
    return pd_fail(error, PD_ERROR_VALUE, "%s: a simulation has it or %s, not both", one, other);
}

pd_status pd_response_find(const pd_contact_response **out, const pd_description *description, const pd_method *method, pd_error *error) {
    const pd_contact_response *found = *out = &nothing_touches;
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        if (!responses[i]->wanted(description)) continue;
        if (found != &nothing_touches) return not_both(error, found->name, responses[i]->name);
        found = responses[i];
    }
    *out = found;
    if (found == &nothing_touches) return PD_OK;
    // a method without support for the response would silently ignore it
    if (found->needs & ~method->takes) return pd_fail(error, PD_ERROR_TYPE, "%s: %s does not take it", found->name, method->name);
    if (description->contact && description->contact->n_embedded > 0 && !(found->treats & PD_TREATS_CARRIERS))
        return not_both(error, "carriers", found->name);
    if (description->n_rigid > 0 && !(found->treats & PD_TREATS_RIGID)) return not_both(error, "rigid", "contact that is no law");
    return PD_OK;
}
