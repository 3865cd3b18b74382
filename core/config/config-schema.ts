const id = (maxLength: number) => ({
  type: "string",
  pattern: `^[A-Za-z0-9_.:-]{1,${maxLength}}$`,
  $comment: `must be 1 to ${maxLength} letters, digits, or _ . : -`,
});

const secret = {
  type: "string",
  pattern: "^(env:[A-Za-z_][A-Za-z0-9_]*|file:/[^/].*)$",
  description: "A reference: env:NAME or file:/absolute/path.",
  $comment: "must be a secret reference: env:NAME or file:/absolute/path",
};

const ledger = {
  description: "The embedded ledger for one process, or a PostgreSQL server for many.",
  oneOf: [
    {
      type: "object",
      additionalProperties: false,
      required: ["embedded"],
      properties: { embedded: { type: "string", minLength: 1, description: "Folder, relative to this file." } },
    },
    {
      type: "object",
      additionalProperties: false,
      required: ["postgres"],
      properties: {
        postgres: { type: "object", additionalProperties: false, required: ["url"], properties: { url: secret } },
        work: {
          type: "string",
          minLength: 1,
          description: "Folder for work files of this machine. Default: .waybill beside this file.",
        },
      },
    },
  ],
  $comment: "must be {embedded: FOLDER} or {postgres: {url: SECRET}, work: FOLDER}, work being optional",
};

const schedule = {
  type: "object",
  description: "When periods start and end, and how long after the end a report is due.",
  additionalProperties: false,
  required: ["period_duration", "alignment", "delivery_sla"],
  properties: {
    period_duration: {
      type: "string",
      pattern: "^P(?=.*[1-9])(?=\\d|T)(?:\\d+Y)?(?:\\d+M)?(?:\\d+D)?(?:T(?=\\d)(?:\\d+H)?(?:\\d+M)?(?:\\d+S)?)?$",
      $comment: "must be an ISO 8601 duration above zero without weeks or fractions, such as P1D or PT1H",
    },
    alignment: { enum: ["utc", "account_timezone", "source_timezone", "billing_cycle"] },
    period_anchor: {
      type: "string",
      format: "date-time",
      $comment: "must be an instant such as 2026-01-31T00:00:00Z",
    },
    period_timezone: { type: "string", minLength: 1, maxLength: 255 },
    delivery_sla: {
      type: "string",
      pattern: "^P(?=\\d|T)(?=.*\\d)(?:\\d+Y)?(?:\\d+M)?(?:\\d+D)?(?:T(?=\\d)(?:\\d+H)?(?:\\d+M)?(?:\\d+S)?)?$",
      $comment: "must be an ISO 8601 duration without weeks or fractions, such as PT4H",
    },
  },
};

const destination = {
  type: "object",
  additionalProperties: false,
  required: ["destination_id", "transport", "hosting", "verification_path", "retention_days", "settings"],
  properties: {
    destination_id: id(64),
    transport: { type: "string", description: "local_fs, or another transport of docs/drivers." },
    hosting: {
      enum: ["producer", "buyer"],
      description: "Who owns the place. A verified delivery ends as available (producer) or delivered (buyer).",
    },
    verification_path: {
      enum: ["producer", "representative_consumer", "destination"],
      description: "As whom a delivery is read back before it counts.",
    },
    retention_days: {
      type: "integer",
      minimum: 1,
      maximum: 36500,
      description: "How long a verified delivery stays readable.",
    },
    settings: { type: "object", description: "The transport's own settings; see docs/drivers." },
  },
};

const configuration = {
  type: "object",
  additionalProperties: false,
  required: [
    "delivery_config_id",
    "delivery_config_version",
    "account_id",
    "report_definition_id",
    "feed_purpose",
    "required_finality",
    "reconciliation_mode",
    "verification_profile",
    "media_buy_ids",
    "destination",
    "schedule",
  ],
  properties: {
    delivery_config_id: id(64),
    delivery_config_version: {
      type: "integer",
      minimum: 1,
      description: "Raise it with every change below: a version once used never changes.",
    },
    account_id: id(255),
    report_definition_id: id(255),
    feed_purpose: { enum: ["pacing", "analytics", "billing"] },
    required_finality: { enum: ["snapshot", "official"] },
    reconciliation_mode: { enum: ["delivery_only", "consumer_receipt"] },
    verification_profile: { enum: ["manifest_checksums", "canonical_digest", "native_commit"] },
    media_buy_ids: {
      description: "Explicit ids, or the word all.",
      oneOf: [{ const: "all" }, { type: "array", minItems: 1, uniqueItems: true, items: id(255) }],
      $comment: "must be the word all or a list of different ids",
    },
    destination: id(64),
    schedule,
  },
};

/** JSON Schema (2020-12) of `waybill.config.yaml`; `$comment` is the sentence shown when a value does not fit. Published as docs/config.schema.json. */
export const configSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "waybill.config.yaml",
  type: "object",
  additionalProperties: false,
  required: ["waybill", "ledger", "definitions", "destinations", "configurations"],
  properties: {
    waybill: { const: 1, description: "Version of this file's format." },
    ledger,
    queue: {
      type: "object",
      additionalProperties: false,
      required: ["redis"],
      description: "Where hints about due work go. Default: the memory of one process.",
      properties: {
        redis: {
          type: "object",
          additionalProperties: false,
          required: ["url"],
          properties: {
            url: secret,
            prefix: {
              type: "string",
              pattern: "^[A-Za-z0-9_-]{1,64}$",
              $comment: "must be 1 to 64 letters, digits, _ or -",
            },
          },
        },
      },
    },
    retained: {
      description:
        "Where retained revisions are; every worker must reach the same place. Default: a folder beside the ledger's.",
      type: "object",
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
      properties: {
        folder: { type: "string", minLength: 1, description: "Relative to this file." },
        s3: { type: "object", description: "location, region, endpoint, credentials; see docs/drivers/s3.md." },
      },
    },
    definitions: {
      type: "array",
      items: { type: "string", minLength: 1 },
      description: "Definition files, relative to this file.",
    },
    destinations: { type: "array", items: destination },
    configurations: { type: "array", items: configuration },
  },
};
