import { describe } from "vitest";
import type { Database } from "../../core/store/sql.ts";
import { attemptSuite } from "./ledger/attempts.ts";
import { commitSuite, type LedgerTraits } from "./ledger/commits.ts";
import { finishSuite } from "./ledger/finish.ts";
import { generationSuite } from "./ledger/generations.ts";
import { isolationSuite } from "./ledger/isolation.ts";
import { leaseSuite } from "./ledger/leases.ts";
import { obligationSuite } from "./ledger/obligations.ts";
import { pageSuite } from "./ledger/pages.ts";
import { proofSuite } from "./ledger/proofs.ts";
import { revisionSuite } from "./ledger/revisions.ts";
import { sequenceSuite } from "./ledger/sequences.ts";

/**
 * The promises of the ledger. A database passes this suite unchanged. `open` gives an empty, migrated ledger that `close` removes;
 * it is called before each test and may end the world before.
 */
export function ledgerConformance(name: string, open: () => Promise<Database>, traits: LedgerTraits): void {
  describe(`ledger: ${name}`, () => {
    generationSuite(open);
    obligationSuite(open);
    revisionSuite(open);
    attemptSuite(open);
    leaseSuite(open);
    finishSuite(open);
    commitSuite(open, traits);
    pageSuite(open);
    isolationSuite(open);
    sequenceSuite(open);
    proofSuite(open);
  });
}
