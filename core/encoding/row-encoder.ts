import { DeliveryError, WaybillError } from "../errors.ts";
import type { LogicalRow } from "../rows/profile.ts";

/** Writes logical rows of one profile as text records. */
export interface RowEncoder {
  /** Text in front of the first row of every object, with its line end; empty when there is none. */
  readonly head: string;
  /**
   * One row with its line end. DeliveryError ROW_NOT_ENCODABLE when the format cannot hold a value without loss; its cause is a
   * WaybillError naming row (`number`, from 1 in the served order) and member.
   */
  encode(row: LogicalRow, number: number): string;
}

/** The error for a value that a format cannot hold. `why` completes the sentence "row 3: spend …". */
export function notEncodable(number: number, member: string | undefined, why: string): DeliveryError {
  const problem = {
    code: "ROW_NOT_ENCODABLE",
    message: member === undefined ? `row ${number} ${why}` : `row ${number}: ${member} ${why}`,
    row: number,
  };
  return new DeliveryError("ROW_NOT_ENCODABLE", {
    cause: new WaybillError("content", [member === undefined ? problem : { ...problem, member }]),
  });
}
