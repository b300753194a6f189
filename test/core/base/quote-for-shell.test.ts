import { describe, expect, test } from "vitest";
import { quoteForShell } from "../../../src/core/base/quote-for-shell.ts";

describe("shellWord quotes a word for the shell of the platform", () => {
  test.each([
    ["linux", "a/b.txt", "a/b.txt"],
    ["linux", "a b", "'a b'"],
    ["linux", "it's", String.raw`'it'\''s'`],
    ["linux", "-x", "'-x'"],
    ["linux", "", "''"],
    ["win32", String.raw`C:\app\haft.db`, String.raw`C:\app\haft.db`],
    ["win32", String.raw`C:\my app\haft.db`, String.raw`"C:\my app\haft.db"`],
    ["win32", "it's", `"it's"`],
    ["win32", "$HOME's", '"`$HOME\'s"'],
    ["win32", "`whoami`", '"``whoami``"'],
    ["win32", "%PATH%", '"%PATH%"'],
    ["win32", "$x & calc", '"`$x & calc"'],
    ["win32", 'a" & calc & "', '"a"" & calc & """'],
    ["win32", "a\u201d; calc; \u201cb", '"a\u201d\u201d; calc; \u201c\u201cb"'],
    ["win32", "a\u2019; calc; \u2018b\\", "'a\u2019\u2019; calc; \u2018\u2018b\\'"],
    ["win32", "-x", `"-x"`],
    ["win32", String.raw`a b` + "\\", String.raw`'a b` + "\\'"],
  ])("on %s: %j is %s", (platform, text, word) => expect(quoteForShell(text, platform)).toBe(word));
});
