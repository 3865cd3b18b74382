/** Where a secret is, never what it is. Written in configuration as `env:NAME` or `file:/absolute/path`. */
export type SecretReference =
  | { readonly kind: "env"; readonly name: string }
  | { readonly kind: "file"; readonly path: string };

/** Undefined when the text is no reference; `file://…` is a location, not a secret. */
export function parseSecretReference(text: string): SecretReference | undefined {
  const environment = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text)?.[1];
  if (environment !== undefined) return { kind: "env", name: environment };
  const path = /^file:(\/(?!\/)[^\0]+)$/.exec(text)?.[1];
  return path === undefined ? undefined : { kind: "file", path };
}
