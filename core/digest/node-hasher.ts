import { createHash } from "node:crypto";
import type { Hasher } from "./hasher.ts";

/** A Hasher on node:crypto. */
export function nodeHasher(algorithm: "sha256" | "sha512"): Hasher {
  const hash = createHash(algorithm);
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    hex: () => hash.digest("hex"),
  };
}

/** Lower-case hex SHA-256 of bytes, or of the UTF-8 of a text. */
export function sha256Hex(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}
