const text = (maxLength: number) => ({ type: "string", minLength: 1, maxLength });

const id = (maxLength: number) => ({
  type: "string",
  pattern: `^[A-Za-z0-9_.:-]{1,${maxLength}}$`,
  $comment: `must be 1 to ${maxLength} letters, digits, or _ . : -`,
});

const memberName = {
  type: "string",
  // A bare word in SQL, in CSV headers and as `source_expression`; `__proto__` is none in JavaScript.
  pattern: "^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,127}$",
  $comment: "must be letters, digits and _, not starting with a digit, at most 128",
};

const policy = (basis: string, ...members: readonly string[]) => ({
  type: "object",
  additionalProperties: false,
  required: ["finality_policy_id", "basis", ...members],
  properties: {
    finality_policy_id: id(255),
    basis: { const: basis },
    ...Object.fromEntries(members.map((name) => [name, text(512)])),
  },
});

/** JSON Schema of the definition file. `$comment` is the sentence a person reads when a value does not fit. */
export const definitionSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Waybill report definition",
  type: "object",
  additionalProperties: false,
  required: [
    "waybill_definition",
    "report_definition_id",
    "reporting_profile",
    "schema_version",
    "grain",
    "documents_base_uri",
    "source",
    "calendar",
    "primary_keys",
    "members",
    "control_totals",
    "finality_policies",
    "restatement",
  ],
  properties: {
    waybill_definition: { const: 1 },
    report_definition_id: id(255),
    reporting_profile: id(128),
    schema_version: text(64),
    grain: text(128),
    documents_base_uri: {
      type: "string",
      maxLength: 1024,
      pattern: "^https://(?!localhost(?:[:/]|$))(?:[A-Za-z0-9-]+\\.)+[A-Za-z]{2,}(?::\\d+)?(?:/[A-Za-z0-9_.~-]+)*$",
      $comment: "must be an https URI with a public host name, without query and without a slash at the end",
    },
    source: {
      type: "object",
      additionalProperties: false,
      required: ["provider", "system", "api_version"],
      properties: {
        provider: {
          type: "object",
          additionalProperties: false,
          required: ["domain"],
          properties: {
            domain: {
              type: "string",
              pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
              $comment: "must be a lower-case domain name",
            },
          },
        },
        system: text(128),
        api_version: text(128),
        query_semantics: { type: "object" },
      },
    },
    calendar: {
      type: "object",
      additionalProperties: false,
      required: ["timezone_basis"],
      properties: {
        timezone_basis: { enum: ["utc", "account_timezone", "schedule_timezone", "configured_timezone"] },
        timezone: text(255),
      },
    },
    primary_keys: { type: "array", minItems: 1, maxItems: 32, uniqueItems: true, items: { type: "string" } },
    media_buy_member: { type: "string" },
    members: {
      type: "array",
      minItems: 2,
      maxItems: 1000,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "type"],
        properties: {
          name: memberName,
          type: {
            enum: [
              "string",
              "integer",
              "number",
              "integer-string",
              "decimal-string",
              "boolean",
              "date",
              "timestamp",
              "json",
            ],
          },
          precision: { type: "integer", minimum: 1, maximum: 38 },
          scale: { type: "integer", minimum: 1, maximum: 38 },
          fraction: { enum: [0, 3, 6] },
          column: { enum: ["int64", "decimal38"] },
          unit: text(32),
          missing: { enum: ["forbidden", "null", "absent"] },
        },
      },
    },
    control_totals: {
      type: "array",
      minItems: 1,
      maxItems: 100,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "member"],
        properties: {
          name: {
            type: "string",
            pattern: "^[A-Za-z][A-Za-z0-9_.:-]{0,127}$",
            $comment: "must start with a letter and go on with letters, digits, or _ . : -, at most 128",
          },
          member: { type: "string" },
          unit: text(32),
        },
      },
    },
    finality_policies: {
      type: "array",
      minItems: 1,
      maxItems: 100,
      items: {
        oneOf: [
          policy("source_final", "source_signal"),
          policy("contractual_cutoff", "duration_after_period_end"),
          policy("stabilized", "minimum_age", "unchanged_for"),
        ],
        $comment:
          "must be source_final with source_signal, contractual_cutoff with duration_after_period_end, or stabilized with minimum_age and unchanged_for",
      },
    },
    restatement: {
      type: "object",
      additionalProperties: false,
      required: ["source_requery_duration"],
      properties: { source_requery_duration: text(64) },
    },
  },
};
