/** Reads back canonical JSON that this ledger wrote. Only for columns whose writer is one of our transitions: the type is a promise. */
export function fromStored<T>(text: string): T {
  return JSON.parse(text) as T;
}
