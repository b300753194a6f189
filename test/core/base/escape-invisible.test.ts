import fc from "fast-check";
import { expect, test } from "vitest";
import { escapeInvisible } from "../../../src/core/base/escape-invisible.ts";

test.each([
  ["plain text,\twith a tab\r\nand lines", "plain text,\twith a tab\r\nand lines"],
  ["\u202etxt.exe", "\\u202etxt.exe"],
  ["pass\u200bword", "pass\\u200bword"],
  ["\u001b[2J", "\\u001b[2J"],
  ["\u{e0041}", "\\udb40\\udc41"],
  ["straße, 名前, ⚠️ 👩‍🔬 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣", "straße, 名前, ⚠️ 👩‍🔬 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣"],
  ["a\u200db", "a\\u200db"],
  ["a\ufe0f", "a\\ufe0f"],
])("%j becomes %j", (text, visible) => {
  expect(escapeInvisible(text)).toBe(visible);
});

test("for any text, no invisible character stays outside of emoji, and a second pass changes nothing", () => {
  const invisible = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2060-\u206f]/u;
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const visible = escapeInvisible(text);
      expect(invisible.test(visible)).toBe(false);
      expect(escapeInvisible(visible)).toBe(visible);
    }),
  );
});
