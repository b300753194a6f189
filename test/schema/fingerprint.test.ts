import { expect, test } from "vitest";
import { schemaFingerprint } from "../../src/schema/fingerprint.ts";

test("F0.9 the fingerprint does not depend on key order, and changes with a type", () => {
  const one = schemaFingerprint({ type: "object", properties: { a: { type: "string" }, b: {} } });
  const same = schemaFingerprint({ properties: { b: {}, a: { type: "string" } }, type: "object" });
  const other = schemaFingerprint({ type: "object", properties: { a: { type: "integer" }, b: {} } });
  expect([one === same, one === other, one]).toEqual([true, false, expect.stringMatching(/^[0-9a-f]{64}$/u)]);
});

test("F0.9 the fingerprint is the SHA-256 of JSON with sorted keys and no white space", () => {
  expect(schemaFingerprint({})).toBe("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
});
