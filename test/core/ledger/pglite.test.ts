import { freshPglite } from "../../conformance/ledger/fresh-pglite.ts";
import { ledgerConformance } from "../../conformance/ledger.ts";

ledgerConformance("PGlite", freshPglite, { concurrentTransactions: false });
