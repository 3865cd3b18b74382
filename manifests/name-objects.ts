import type { FindingList } from "./finding-list.ts";
import type { AnyManifest } from "./manifest-shape.ts";
import { resolveObjectRef } from "./object-ref.ts";
import type { NamedObject } from "./objects-audit.ts";
import type { Expectation, VerifyLimits } from "./verification.ts";

/**
 * Step 6, second half, and step 7: every object_ref is unique and leads to one plain object in the manifest's folder. Returns those that
 * do; undefined when the manifest promises more than the limits allow, so that nothing of it is read.
 */
export function nameObjects(
  manifest: AnyManifest,
  options: {
    readonly folder: string;
    readonly manifestName: string;
    readonly expect: Expectation;
    readonly limits: VerifyLimits;
  },
  findings: FindingList,
): readonly NamedObject[] | undefined {
  const { files } = manifest;
  const objects: NamedObject[] = [];
  const refs = new Set<string>();
  const names = new Set([options.manifestName.toLowerCase()]);
  for (const entry of files) {
    const { object_ref } = entry;
    if (refs.has(object_ref)) {
      const message = "the manifest lists the same object twice";
      findings.add({ code: "MANIFEST_IDENTITY_MISMATCH", message, object_ref });
      continue;
    }
    refs.add(object_ref);
    const name = resolveObjectRef(object_ref, options.folder);
    if (name === undefined) {
      const message = "the object_ref is neither a bare name nor a key that ends in the manifest's folder";
      findings.add({ code: "UNSAFE_RESOURCE", message, object_ref });
      continue;
    }
    if (names.has(name.toLowerCase())) {
      const message = "the object_ref leads to a file that has another role, or differs from another one by case only";
      findings.add({ code: "UNSAFE_RESOURCE", message, object_ref });
      continue;
    }
    names.add(name.toLowerCase());
    objects.push({ entry, name });
  }
  checkPromises(refs, options.expect, findings);
  return isWithinLimits(manifest, options.limits, findings) ? objects : undefined;
}

/** A checksum that a record promises for an object that the manifest does not list. */
function checkPromises(refs: ReadonlySet<string>, { materialization }: Expectation, findings: FindingList): void {
  for (const { object_ref } of materialization?.verification?.physical_checksums ?? []) {
    if (refs.has(object_ref)) continue;
    const message = "the verification record has a checksum of an object that the manifest does not list";
    findings.add({ code: "MANIFEST_IDENTITY_MISMATCH", message, object_ref });
  }
}

function isWithinLimits({ files }: AnyManifest, limits: VerifyLimits, findings: FindingList): boolean {
  const bytes = files.reduce((total, file) => total + file.size_bytes, 0);
  let within = true;
  const refuse = (what: string, limit: number, actual: number): void => {
    within = false;
    const message = `the manifest promises more ${what} than this reader takes`;
    findings.add({ code: "RESOURCE_TOO_LARGE", message, expected: `at most ${limit}`, actual: String(actual) });
  };
  if (files.length > limits.maxObjects) refuse("objects", limits.maxObjects, files.length);
  if (bytes > limits.maxTotalBytes) refuse("bytes", limits.maxTotalBytes, bytes);
  return within;
}
