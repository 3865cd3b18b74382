import { sha256Hex } from "../digest/node-hasher.ts";
import { type Slice, sliceIdentity } from "../model/revision-chain.ts";

/** A slice as the database knows it: a media buy list may be longer than an index entry can be. */
export function sliceKey(slice: Slice): string {
  return sha256Hex(sliceIdentity(slice));
}
