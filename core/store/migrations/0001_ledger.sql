-- Instants are bigint microseconds since 1970. JSON is kept as the canonical text that was hashed or compared, never as a JSON type.
-- Records are facts: what a trigger below calls immutable is never updated by any later migration either.

-- The only clock of ledger decisions. Tests may replace it.
create function ledger_now() returns bigint
  language sql volatile
  as 'select floor(extract(epoch from clock_timestamp()) * 1000000)::bigint';

-- One row per account. Every commit takes its place here as its last lock, so places become visible in order.
create table account_seq (
  account_id text primary key,
  last bigint not null,
  last_at bigint not null
);

create table definition (
  report_definition_id text not null,
  reporting_profile text not null,
  report_definition bytea not null,
  report_definition_uri text not null,
  report_definition_sha256 text not null,
  row_schema bytea not null,
  row_schema_uri text not null,
  row_schema_sha256 text not null,
  canonicalization bytea not null,
  canonicalization_uri text not null,
  canonicalization_sha256 text not null,
  profile text not null,
  installed_at bigint not null,
  primary key (report_definition_id, reporting_profile)
);

create table destination (
  destination_ref text primary key,
  content text not null,
  installed_at bigint not null,
  deactivated_at bigint
);

create table configuration (
  account_id text not null,
  delivery_config_id text not null,
  delivery_config_version integer not null check (delivery_config_version >= 1),
  destination_ref text not null references destination,
  content text not null,
  installed_at bigint not null,
  deactivated_at bigint,
  seq bigint not null,
  primary key (account_id, delivery_config_id, delivery_config_version),
  unique (account_id, seq)
);
create index configuration_destination on configuration (destination_ref);

-- What logical content a chain of revisions is about. Its row is locked to read or move the end of the chain.
create table slice (
  account_id text not null,
  slice_key text not null,
  current_revision_id text,
  primary key (account_id, slice_key)
);

create table obligation (
  reporting_obligation_id text primary key,
  account_id text not null,
  delivery_config_id text not null,
  delivery_config_version integer not null,
  slice_key text not null,
  period_start bigint not null,
  period_end bigint not null check (period_end > period_start),
  expected_at bigint not null,
  facts text not null,
  created_at bigint not null,
  seq bigint not null,
  foreign key (account_id, delivery_config_id, delivery_config_version) references configuration,
  unique (account_id, delivery_config_id, delivery_config_version, period_start, period_end),
  unique (account_id, seq)
);
create index obligation_slice on obligation (account_id, slice_key);

create table revision (
  reporting_revision_id text primary key,
  account_id text not null,
  slice_key text not null,
  supersedes_reporting_revision_id text unique references revision,
  finality text not null check (finality in ('snapshot', 'official')),
  record text not null,
  retained text not null,
  committed_at bigint not null,
  seq bigint not null,
  foreign key (account_id, slice_key) references slice,
  unique (account_id, seq)
);
create index revision_slice on revision (account_id, slice_key, seq);
create unique index revision_one_first on revision (account_id, slice_key) where supersedes_reporting_revision_id is null;
create unique index revision_one_official on revision (account_id, slice_key) where finality = 'official';

create table materialization (
  reporting_materialization_id text primary key,
  account_id text not null,
  reporting_obligation_id text not null references obligation,
  reporting_revision_id text not null references revision,
  attempt integer not null check (attempt >= 1),
  selection text not null check (selection in ('current', 'exact')),
  method text not null,
  transport text not null,
  plan text not null,
  created_at bigint not null,
  seq bigint not null,
  status text not null default 'pending' check (status in ('pending', 'available', 'delivered', 'failed')),
  ended_at bigint,
  ended_seq bigint,
  failure_code text,
  failure_detail text,
  resource text,
  verification text,
  expires_at bigint,
  unique (reporting_obligation_id, reporting_revision_id, attempt),
  unique (account_id, seq),
  check ((status = 'pending') = (ended_at is null and ended_seq is null)),
  check ((status = 'failed') = (failure_code is not null)),
  check ((status in ('available', 'delivered'))
    = (resource is not null and verification is not null and expires_at is not null))
);
create unique index materialization_one_pending on materialization (reporting_obligation_id, reporting_revision_id)
  where status = 'pending';

-- What the worker needs and changes while it runs. The lease is here, so that a finished materialization can still be leased to withdraw it.
create table delivery_work (
  reporting_materialization_id text primary key references materialization,
  account_id text not null,
  transport text not null,
  phase text not null default 'planned' check (phase in ('planned', 'writing', 'committed', 'done')),
  commit_evidence text,
  committed_at bigint,
  tries integer not null default 0,
  probes integer not null default 0,
  next_run_at bigint not null,
  lease_token text,
  lease_generation integer not null default 0,
  lease_until bigint,
  lease_worker text,
  check ((commit_evidence is null) = (committed_at is null)),
  check ((lease_token is null) = (lease_until is null))
);
create index delivery_work_due on delivery_work (next_run_at) where phase <> 'done';
create index delivery_work_leased on delivery_work (lease_until) where lease_until is not null;

-- Withdrawal is announced here before it acts; tx 2 refuses a materialization that has a row.
create table tombstone (
  reporting_materialization_id text not null references materialization,
  what text not null check (what in ('access', 'data')),
  account_id text not null,
  reason text not null,
  placed_at bigint not null,
  settled_at bigint,
  primary key (reporting_materialization_id, what)
);
create index tombstone_placed on tombstone (placed_at);

-- What happened, in order, for explain. Append-only.
create table journal (
  account_id text not null,
  seq bigint not null,
  at bigint not null,
  kind text not null,
  subject_id text not null,
  event text not null,
  detail text not null,
  primary key (account_id, seq)
);
create index journal_subject on journal (subject_id, account_id, seq);

-- Logical notifications, committed with their cause. One per cause, however many subscribers it fans out to later.
create table outbox (
  account_id text not null,
  seq bigint not null,
  event_type text not null,
  cause_id text not null,
  payload text not null,
  created_at bigint not null,
  primary key (account_id, seq),
  unique (event_type, cause_id)
);

-- The account change feed, in wire form.
create table account_change (
  account_id text not null,
  seq bigint not null,
  change_id text not null unique,
  resource_type text not null,
  record text not null,
  recorded_at bigint not null,
  primary key (account_id, seq)
);

create function refuse_change() returns trigger
  language plpgsql
  as $$ begin raise exception 'this % is immutable', tg_table_name using errcode = 'integrity_constraint_violation'; end $$;

create trigger definition_immutable before update on definition for each row execute function refuse_change();
create trigger obligation_immutable before update on obligation for each row execute function refuse_change();
create trigger revision_immutable before update on revision for each row execute function refuse_change();
create trigger journal_immutable before update on journal for each row execute function refuse_change();
create trigger account_change_immutable before update on account_change for each row execute function refuse_change();
create trigger configuration_immutable before update on configuration for each row
  when (old.content is distinct from new.content) execute function refuse_change();
create trigger destination_immutable before update on destination for each row
  when (old.content is distinct from new.content) execute function refuse_change();
create trigger materialization_ends_once before update on materialization for each row
  when (old.status <> 'pending') execute function refuse_change();
