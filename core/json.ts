/** JSON as a value. Numbers are doubles; 64-bit integers and decimals travel as strings. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: JsonValue;
}
