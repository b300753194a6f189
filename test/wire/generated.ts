/** What property tests of wire formats put in: names, inputs, and ways to cut a text. */
import fc from "fast-check";
import type { JsonObject } from "../../src/core/base/json.ts";

/** Qualified names, some of which no provider takes as they are. */
export const names = fc.constantFrom(
  "web::search",
  "files::read",
  "plain",
  "a b::c.d",
  "ns::x__y",
  "città::größe",
  `long::${"n".repeat(80)}`,
);

/** As they are after a journey through JSON text. */
export const inputs = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
  .map((input) => JSON.parse(JSON.stringify(input)) as JsonObject)
  .filter((input) => !JSON.stringify(input).includes('"__proto__"'));

/** Cuts a text, the same text always the same way. */
export const pieces = fc.array(fc.nat(12), { maxLength: 8 }).map((sizes) => (text: string): readonly string[] => {
  const parts: string[] = [];
  let rest = text;
  for (const size of sizes) {
    parts.push(rest.slice(0, size));
    rest = rest.slice(size);
  }
  return [...parts, rest];
});
