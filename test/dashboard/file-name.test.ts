/** The names of files that are saved from the page. */
import { expect, test } from "vitest";
import { fileName } from "../../src/dashboard/show/file-name.ts";

test.each([
  ["orders 2026/07", "orders-2026-07.md"],
  ["عربي 😀 x", "عربي-x.md"],
  ["日本語のセッション", "日本語のセッション.md"],
  ["pay\u200bpal\u202egpj.exe", "pay-pal-gpj.exe.md"],
  ["../../etc/passwd", "..-..-etc-passwd.md"],
  ["𝒳".repeat(60), `${"𝒳".repeat(40)}.md`],
])("%j is saved as %j", (text, name) => {
  expect(fileName(text, "md")).toBe(name);
});
