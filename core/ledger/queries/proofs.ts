import type { FailureCode } from "../../failure-table.ts";
import type { DestinationCheck, DestinationProof } from "../../model/destination-proof.ts";
import type { Sql } from "../../store/sql.ts";
import { fromStored } from "../stored-json.ts";

/** The latest test of a destination generation, whoever ran it. Undefined: it was never tested. */
export async function latestProof(
  db: Sql,
  destinationRef: string,
): Promise<{ readonly proof: DestinationProof; readonly provedAtUs: bigint } | undefined> {
  const [row] = await db.query<ProofRow>(
    `select outcome, failure_code, checks, proved_at from destination_proof
     where destination_ref = $1 order by proof_number desc limit 1`,
    [destinationRef],
  );
  if (row === undefined) return undefined;
  const { outcome, failure_code, checks, proved_at } = row;
  const proof = { outcome, failure_code, checks: fromStored<readonly DestinationCheck[]>(checks) };
  return { proof, provedAtUs: proved_at };
}

type ProofRow = {
  readonly outcome: "pass" | "fail";
  readonly failure_code: FailureCode | null;
  readonly checks: string;
  readonly proved_at: bigint;
};
