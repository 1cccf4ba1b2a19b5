// SPDX-License-Identifier: Apache-2.0
#include "wire/schema_int.h"

#define PREFIX "google.protobuf."

struct part {
    const char *name;   /* NULL: none */
    ProtobufCType type; /* of field 1, 2 … */
    bool repeated;
};

static const struct {
    const char *name; /* behind PREFIX */
    enum mrg_known known;
    struct part parts[6];
} table[] = {
    {"Any",
     MRG_KNOWN_ANY,
     {{"type_url", PROTOBUF_C_TYPE_STRING, false}, {"value", PROTOBUF_C_TYPE_BYTES, false}}},
    {"Timestamp",
     MRG_KNOWN_TIMESTAMP,
     {{"seconds", PROTOBUF_C_TYPE_INT64, false}, {"nanos", PROTOBUF_C_TYPE_INT32, false}}},
    {"Duration",
     MRG_KNOWN_DURATION,
     {{"seconds", PROTOBUF_C_TYPE_INT64, false}, {"nanos", PROTOBUF_C_TYPE_INT32, false}}},
    {"FieldMask", MRG_KNOWN_FIELD_MASK, {{"paths", PROTOBUF_C_TYPE_STRING, true}}},
    {"Struct", MRG_KNOWN_STRUCT, {{"fields", PROTOBUF_C_TYPE_MESSAGE, true}}},
    {"Value",
     MRG_KNOWN_VALUE,
     {{"null_value", PROTOBUF_C_TYPE_ENUM, false},
      {"number_value", PROTOBUF_C_TYPE_DOUBLE, false},
      {"string_value", PROTOBUF_C_TYPE_STRING, false},
      {"bool_value", PROTOBUF_C_TYPE_BOOL, false},
      {"struct_value", PROTOBUF_C_TYPE_MESSAGE, false},
      {"list_value", PROTOBUF_C_TYPE_MESSAGE, false}}},
    {"ListValue", MRG_KNOWN_LIST_VALUE, {{"values", PROTOBUF_C_TYPE_MESSAGE, true}}},
    {"DoubleValue", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_DOUBLE, false}}},
    {"FloatValue", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_FLOAT, false}}},
    {"Int64Value", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_INT64, false}}},
    {"UInt64Value", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_UINT64, false}}},
    {"Int32Value", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_INT32, false}}},
    {"UInt32Value", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_UINT32, false}}},
    {"BoolValue", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_BOOL, false}}},
    {"StringValue", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_STRING, false}}},
    {"BytesValue", MRG_KNOWN_WRAPPER, {{"value", PROTOBUF_C_TYPE_BYTES, false}}},
    {"Empty", MRG_KNOWN_EMPTY, {{NULL, PROTOBUF_C_TYPE_INT32, false}}},
};

/* Whether the types of message fields are those of protobuf's own proto. */
static bool fits_within(const struct mrg_message *message, enum mrg_known known)
{
    const struct mrg_field *fields = message->fields;
    if (known == MRG_KNOWN_STRUCT)
        return fields[0].map && fields[0].message->field_count == 2 &&
               fields[0].message->fields[0].type == PROTOBUF_C_TYPE_STRING &&
               fields[0].message->fields[1].message &&
               mrg_slice_eq_str(fields[0].message->fields[1].message->full_name, PREFIX "Value");
    if (known == MRG_KNOWN_LIST_VALUE)
        return mrg_slice_eq_str(fields[0].message->full_name, PREFIX "Value");
    if (known != MRG_KNOWN_VALUE)
        return true;
    for (size_t i = 0; i < message->field_count; i++)
        if (fields[i].oneof != 0)
            return false;
    return fields[0].enumeration->null && mrg_slice_eq_str(fields[4].message->full_name, PREFIX "Struct") &&
           mrg_slice_eq_str(fields[5].message->full_name, PREFIX "ListValue");
}

enum mrg_err mrg_schema_known(struct mrg_message *message, struct mrg_error *err)
{
    struct mrg_slice name = message->full_name;
    size_t prefix = sizeof(PREFIX) - 1;
    if (name.len <= prefix || memcmp(name.ptr, PREFIX, prefix) != 0)
        return MRG_ERR_OK;
    for (size_t i = 0; i < MRG_ARRAY_LEN(table); i++) {
        if (strcmp(name.ptr + prefix, table[i].name) != 0)
            continue;
        const struct part *parts = table[i].parts;
        size_t count = 0;
        while (count < MRG_ARRAY_LEN(table[i].parts) && parts[count].name)
            count++;
        bool fits = message->field_count == count;
        for (size_t j = 0; fits && j < count; j++) {
            const struct mrg_field *field = &message->fields[j];
            /* Value's members have presence by their oneof; the others' are plain. */
            fits = field->number == j + 1 && mrg_slice_eq_str(field->name, parts[j].name) &&
                   field->type == parts[j].type && field->repeated == parts[j].repeated && !field->required;
        }
        if (!fits || !fits_within(message, table[i].known))
            return mrg_error_set(err, MRG_ERR_INVALID, "%s does not have the fields of protobuf's own %s",
                                 name.ptr, table[i].name);
        message->known = table[i].known;
        return MRG_ERR_OK;
    }
    return MRG_ERR_OK;
}
