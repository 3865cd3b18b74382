-- What was found when a destination generation was put to the test before its first delivery. Append-only; the latest row counts.
create table destination_proof (
  proof_number bigint generated always as identity primary key,
  destination_ref text not null references destination,
  proved_at bigint not null,
  outcome text not null check (outcome in ('pass', 'fail')),
  failure_code text,
  checks text not null,
  check ((outcome = 'fail') = (failure_code is not null))
);
create index destination_proof_latest on destination_proof (destination_ref, proof_number);

create trigger destination_proof_immutable before update on destination_proof for each row execute function refuse_change();
