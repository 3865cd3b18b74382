/** A bare object name: no separators, not hidden, plain ASCII, so it means the same file everywhere. */
export function isObjectName(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$/.test(name);
}

/**
 * The bare name that an `object_ref` stands for in the manifest's folder; undefined when it is not safe to follow. Besides a bare name
 * this takes a key relative to the destination, when it ends at the manifest's own folder: `r_1/m_2/rows.jsonl` in `…/r_1/m_2`.
 * `folder` is the folder's location or key. Schemes, queries, absolute keys, `.` and `..` never pass.
 */
export function resolveObjectRef(ref: string, folder: string): string | undefined {
  if (isObjectName(ref)) return ref;
  const segments = ref.split("/");
  const name = segments.pop() ?? "";
  if (!isObjectName(name) || !segments.every(isKeySegment)) return undefined;
  const tail = folder
    .split("/")
    .filter((segment) => segment !== "")
    .slice(-segments.length);
  return tail.length === segments.length && tail.join("/") === segments.join("/") ? name : undefined;
}

/** Keys of others may hold blanks or accents; what could lead elsewhere or be read twice is refused. */
function isKeySegment(segment: string): boolean {
  return segment !== "" && segment !== "." && segment !== ".." && !/[\p{Cc}\p{Surrogate}\\?#%:@]/u.test(segment);
}
