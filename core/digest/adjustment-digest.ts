import { canonicalBytes } from "../canonical-json.ts";
import type { Adjustment } from "../model/records.ts";
import type { Hasher } from "./hasher.ts";

/** The `canonical_adjustment_sha256` that an adjustment must carry: over its JCS without that member. Lower-case hex. */
export function adjustmentDigest(adjustment: Adjustment, hasher: Hasher): string {
  const { canonical_adjustment_sha256: _, ...content } = adjustment;
  hasher.update(canonicalBytes(content));
  return hasher.hex();
}
