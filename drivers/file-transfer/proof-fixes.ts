import type { FailureCode } from "../../core/failure-table.ts";

/** The checks of a file destination, in the order they run. */
export type CheckName =
  | "write"
  | "read_back"
  | "create_only"
  | "checksum"
  | "identities_differ"
  | "reader_cannot_write"
  | "clean_up";

/** A transport's own words for what to do; undefined leaves it to the general ones. Names permissions, never secrets. */
export type FixFor = (check: CheckName, code: FailureCode) => string | undefined;

const ofCode: { readonly [code in FailureCode]?: string } = {
  DESTINATION_MISSING: "create the configured place, or correct settings.location",
  DESTINATION_FULL: "make room at the destination, or raise its quota",
  CONFIGURATION_INVALID: "correct the settings of this destination",
  NOT_YET_VISIBLE: "check that the reader looks at the same place that is written to; if it is only slow, try again",
};

const ofCheck: { readonly [check in CheckName]: string } = {
  write: "let the seller's identity create and read objects below the location",
  create_only:
    "deliver to another place: this one replaces an object that it was told to create, so a commit could be overwritten",
  checksum: "deliver to another place: this one keeps bytes that are not the ones it was told to keep",
  read_back: "let the reader's identity read objects below the location",
  identities_differ: "give the reader credentials of an identity other than the one that writes",
  reader_cannot_write: "take from the reader's identity the permission to create objects below the location",
  clean_up: "let the seller's identity delete objects, which a withdrawal needs too, and remove the probe by hand",
};

/** What a person has to do about a check that did not pass. */
export function generalFix(check: CheckName, code: FailureCode): string {
  return ofCode[code] ?? ofCheck[check];
}
