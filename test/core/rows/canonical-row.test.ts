import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { createRowCanonicalizer } from "../../../core/rows/canonical-row.ts";
import { createRowValidator } from "../../../core/rows/validate-row.ts";
import { profiledRows } from "../../conformance/arbitrary-rows.ts";
import { hardRows } from "../../conformance/hard-rows.ts";

describe("the compiled canonical form", () => {
  it("of every row that satisfies its profile is canonicalJson's own text", () => {
    fc.assert(
      fc.property(profiledRows(), ({ profile, rows }) => {
        const canonical = createRowCanonicalizer(profile);
        const validate = createRowValidator(profile);
        for (const [index, row] of rows.entries()) {
          if (validate(row, index + 1).length === 0) expect(canonical(row)).toBe(canonicalJson(row));
        }
      }),
    );
  });

  it("of the hard rows, and of a row without members, is the same", () => {
    const canonical = createRowCanonicalizer(hardRows.profile);
    for (const row of hardRows.rows) expect(canonical(row)).toBe(canonicalJson(row));
    expect(createRowCanonicalizer({ ...hardRows.profile, members: [] })({})).toBe("{}");
  });
});
