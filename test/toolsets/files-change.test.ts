import { chmodSync, readdirSync, readlinkSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { filesToolset } from "../../src/toolsets/files.ts";
import { applyEdit } from "../../src/toolsets/files/text-edit.ts";
import { FakeSession, TemporaryWorkspace } from "./temporary-workspace.ts";

describe("F1.33 read before write", () => {
  const CHANGES: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    ["write", { content: "new" }],
    ["edit", { old: "1", new: "2" }],
    ["multi_edit", { edits: [{ old: "1", new: "2" }] }],
    ["json_write", { at: "a", value: 2 }],
  ];

  test.each(CHANGES)("F1.33 %s of an existing file that was not read is rejected, with a hint to read it first", async (name, input) => {
    const workspace = new TemporaryWorkspace({ "a.json": '{"a":1}' });
    expect((await workspace.refusal(name, { ...input, path: "a.json" })).toJSON()).toEqual({
      code: "execution_failed",
      message: '"a.json" exists and was not read in this session.',
      retryable: false,
      outcome: "failed",
      hint: "Read it first, then make the change. If you have read it, your calls share no session, and this tool cannot change existing files.",
    });
    expect(workspace.text("a.json")).toBe('{"a":1}');
  });

  test.each(CHANGES)("F1.33 %s of a file that changed on disk after it was read is rejected as stale", async (name, input) => {
    const workspace = new TemporaryWorkspace({ "a.json": '{"a":1}' });
    await workspace.call("read", { path: "a.json" });
    workspace.put("a.json", '{"a":1,"b":1}');
    expect((await workspace.refusal(name, { ...input, path: "a.json" })).message).toBe(
      '"a.json" changed on disk since it was read; nothing was written.',
    );
    expect(workspace.text("a.json")).toBe('{"a":1,"b":1}');
  });

  test.skipIf(process.getuid?.() === 0).each(CHANGES)(
    "F1.33 %s of a read-only file is rejected (skipped: root may write it)",
    async (name, input) => {
      const workspace = new TemporaryWorkspace({ "a.json": '{"a":1}' });
      await workspace.call("read", { path: "a.json" });
      chmodSync(`${workspace.root}/a.json`, 0o444);
      expect((await workspace.refusal(name, { ...input, path: "a.json" })).code).toBe("permission_denied");
      expect(workspace.text("a.json")).toBe('{"a":1}');
    },
  );

  test("F1.33 a change that keeps size and modification time is detected, and so is a new modification time alone", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "one", "b.txt": "one" });
    const time = new Date("2026-01-01");
    for (const path of ["a.txt", "b.txt"]) {
      utimesSync(workspace.path(path), time, time);
      await workspace.call("read", { path });
    }
    workspace.put("a.txt", "two");
    utimesSync(workspace.path("a.txt"), time, time);
    utimesSync(workspace.path("b.txt"), time, new Date("2026-01-02"));
    for (const path of ["a.txt", "b.txt"])
      expect((await workspace.refusal("write", { path, content: "x" })).message).toContain("changed on disk");
  });

  test("F1.33 another session must read the file itself, and its write makes the first session's read stale", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "one" });
    const other = new FakeSession();
    await workspace.call("read", { path: "a.txt" });
    expect((await workspace.refusal("write", { path: "a.txt", content: "x" }, other)).message).toContain("was not read");
    await workspace.call("read", { path: "a.txt" }, other);
    await workspace.call("write", { path: "a.txt", content: "theirs" }, other);
    expect((await workspace.refusal("edit", { path: "a.txt", old: "one", new: "x" })).message).toContain("changed on disk");
  });

  test("F1.33 a new file needs no read, and the session's own writes count as reads", async () => {
    const workspace = new TemporaryWorkspace();
    await workspace.call("write", { path: "a.txt", content: "one" });
    await workspace.call("edit", { path: "a.txt", old: "one", new: "two" });
    await workspace.call("write", { path: "a.txt", content: "three" });
    await workspace.call("multi_edit", { path: "a.txt", edits: [{ old: "three", new: "four" }] });
    expect(workspace.text("a.txt")).toBe("four");
  });

  test("F1.33 five parallel edits after one read are all applied", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "1 2 3 4 5" });
    await workspace.call("read", { path: "a.txt" });
    await Promise.all([1, 2, 3, 4, 5].map((digit) => workspace.call("edit", { path: "a.txt", old: String(digit), new: `<${digit}>` })));
    expect(workspace.text("a.txt")).toBe("<1> <2> <3> <4> <5>");
  });

  test("F1.33 parallel edits of one file through its path and through links are all applied, and the link is kept", async () => {
    const workspace = new TemporaryWorkspace({ "real/a.txt": "1 2 3 4 5 6" });
    symlinkSync("real", workspace.path("alias"));
    symlinkSync("real/a.txt", workspace.path("b.txt"));
    await workspace.call("read", { path: "b.txt" });
    const paths = ["real/a.txt", "alias/a.txt", "b.txt", workspace.path("real/a.txt"), "real/a.txt", "alias/a.txt"];
    await Promise.all(paths.map((path, index) => workspace.call("edit", { path, old: String(index + 1), new: `<${index + 1}>` })));
    expect(workspace.text("b.txt")).toBe("<1> <2> <3> <4> <5> <6>");
    expect(readdirSync(workspace.root).sort()).toEqual(["alias", "b.txt", "real"]);
    expect(["alias", "b.txt"].map((link) => readlinkSync(workspace.path(link)))).toEqual(["real", "real/a.txt"]);
  });

  test("F1.33 when two sessions write the same new file in parallel, only one write succeeds", async () => {
    const workspace = new TemporaryWorkspace();
    const answers = await Promise.allSettled([
      workspace.call("write", { path: "a.txt", content: "one" }),
      workspace.call("write", { path: "a.txt", content: "two" }, new FakeSession()),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });
});

describe("F1.65 write", () => {
  test("F1.65 a write to a folder, or to a path below a file, is rejected and creates nothing", async () => {
    const workspace = new TemporaryWorkspace({ "a/b.txt": "b" });
    expect((await workspace.refusal("write", { path: "a", content: "x" })).message).toBe('"a" is a folder.');
    expect((await workspace.refusal("write", { path: ".", content: "x" })).message).toBe('"." is a folder.');
    for (const path of ["new/", "new/.", "new/..", "new/more/.."])
      expect((await workspace.refusal("write", { path, content: "x" })).message).toBe(`${JSON.stringify(path)} names a folder.`);
    expect((await workspace.refusal("write", { path: "a/b.txt/c", content: "x" })).message).toContain("a part of the path is a file");
    expect(readdirSync(workspace.root, { encoding: "utf8", recursive: true }).sort()).toEqual(["a", "a/b.txt"]);
  });

  test("F1.65 content with a lone surrogate is rejected", async () => {
    const workspace = new TemporaryWorkspace();
    expect((await workspace.refusal("write", { path: "a.txt", content: "a\ud800" })).code).toBe("invalid_input");
  });

  test("F1.65 a cancelled write leaves the file unchanged and no temporary file behind", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "one" });
    await workspace.call("read", { path: "a.txt" });
    const controller = new AbortController();
    const writing = workspace.callWith("write", { path: "a.txt", content: "two" }, workspace.session.context(controller.signal));
    controller.abort(new Error("enough"));
    await expect(writing).rejects.toThrow("enough");
    expect([readdirSync(workspace.root), workspace.text("a.txt")]).toEqual([["a.txt"], "one"]);
  });

  test("F1.65 a write repeated after a crash succeeds and removes the temporary files of killed processes", async () => {
    const workspace = new TemporaryWorkspace();
    const context = workspace.session.context();
    const write = () => workspace.callWith("write", { path: "a.txt", content: "new" }, context);
    const begun = await heldAtFlush(write);
    const [name = ""] = readdirSync(workspace.root);
    begun.goOn();
    await begun.answer;
    rmSync(workspace.path("a.txt"));
    workspace.put(name, "n");
    workspace.put(name.replace(".tmp", "-2.tmp"), "ne");
    expect((await write()).text).toBe("Created a.txt (3 bytes).");
    expect([readdirSync(workspace.root), workspace.text("a.txt")]).toEqual([["a.txt"], "new"]);
  });

  test("F1.65 two processes that run the same call never publish each other's unfinished temporary file", async () => {
    const workspace = new TemporaryWorkspace();
    const context = workspace.session.context();
    const first = await heldAtFlush(() => workspace.callWith("write", { path: "a.txt", content: "first" }, context));
    vi.resetModules(); // a second copy of the modules stands for a second process
    const { filesToolset: ofSecond } = await import("../../src/toolsets/files.ts");
    const write = ofSecond({ root: workspace.root }).tools?.find(({ name }) => name === "write");
    const second = await heldAtFlush(async () => write?.execute?.({ path: "a.txt", content: "second" } as never, context));
    first.goOn();
    expect((await first.answer).text).toBe("Created a.txt (5 bytes).");
    second.goOn();
    await expect(second.answer).rejects.toThrow("changed on disk");
    expect([readdirSync(workspace.root), workspace.text("a.txt")]).toEqual([["a.txt"], "first"]);
  });

  test.skipIf(process.getuid?.() === 0)(
    "a change in a read-only folder names the folder as the reason (skipped: root may write it)",
    async () => {
      const workspace = new TemporaryWorkspace({ "a/b.txt": "1" });
      chmodSync(workspace.path("a"), 0o555);
      await workspace.call("read", { path: "a/b.txt" });
      const { code, message } = await workspace.refusal("edit", { path: "a/b.txt", old: "1", new: "2" });
      chmodSync(workspace.path("a"), 0o755);
      expect([code, message]).toEqual([
        "permission_denied",
        'Cannot make a new file, which every change needs, next to "a/b.txt": the operating system does not allow it.',
      ]);
      expect(workspace.text("a/b.txt")).toBe("1");
    },
  );

  test("a name with a line break is quoted in every answer, where it could look like a second line", async () => {
    const workspace = new TemporaryWorkspace();
    const path = "a\nb.txt";
    const answers = [
      await workspace.say("write", { path, content: "[1]" }),
      await workspace.say("edit", { path, old: "1", new: "2" }),
      await workspace.say("multi_edit", { path, edits: [{ old: "2", new: "3" }] }),
      await workspace.say("json_write", { path, at: "[0]", value: 4 }),
    ];
    expect(answers.map((text) => text.split("\n")[0]?.slice(0, 18))).toEqual([
      'Created "a\\nb.txt"',
      ...Array.from({ length: 3 }, () => 'Updated "a\\nb.txt"'),
    ]);
  });

  test("F1.65 missing folders are created, and the answer says Created for a new file and Updated for an existing one", async () => {
    const workspace = new TemporaryWorkspace();
    expect(await workspace.call("write", { path: "a/b/c.txt", content: "žlutý" })).toMatchObject({
      text: "Created a/b/c.txt (7 bytes).",
      output: { path: "a/b/c.txt", created: true, bytes: 7 },
    });
    expect(await workspace.say("write", { path: "a/b/c.txt", content: "" })).toBe("Updated a/b/c.txt (0 bytes).");
    expect(readdirSync(workspace.root, { encoding: "utf8", recursive: true }).sort()).toEqual(["a", "a/b", "a/b/c.txt"]);
  });
});

describe("F1.66 edit", () => {
  const edit = async (content: string, input: Readonly<Record<string, unknown>>): Promise<readonly [string, string]> => {
    const workspace = new TemporaryWorkspace({ "a.txt": content });
    await workspace.call("read", { path: "a.txt" });
    const text = await workspace.say("edit", { path: "a.txt", ...input }).catch((error: Error) => error.message);
    return [text, workspace.text("a.txt")];
  };

  test.each([
    ["no match", { old: "c", new: "x" }, "old does not occur in the file"],
    ["two matches", { old: "a", new: "x" }, "old occurs 2 times, at lines 1, 3"],
    ["nothing to change", { old: "b", new: "b" }, "old and new are the same text"],
  ])("F1.66 %s is an error and leaves the file unchanged", async (_what, input, problem) => {
    expect(await edit("a\nb\na\n", input)).toEqual([`Cannot edit "a.txt": ${problem}. Nothing was written.`, "a\nb\na\n"]);
  });

  test("F1.66 lines whose ends are partly CRLF and partly LF are named as the problem, and a diff replaces them", async () => {
    const mixed = "a\r\nb\nc\r\n";
    expect(await edit(mixed, { old: "a\nb\nc", new: "x" })).toEqual([
      'Cannot edit "a.txt": old does not occur in the file with these line ends: some lines there end in CRLF, others in LF. Nothing was written.',
      mixed,
    ]);
    expect((await edit(mixed, { diff: "@@ -1,3 +1,2 @@\n-a\n-b\n+x\n c\n" }))[1]).toBe("x\r\nc\r\n");
    expect((await edit("a\nb\n", { old: "a\r\nb", new: "x" }))[0]).toContain("with these line ends: lines there end in LF.");
    expect((await edit("a\nb\n", { old: "a\n c", new: "x" }))[0]).toContain("old does not occur in the file. ");
  });

  test("F1.66 a missing file and a file that is not UTF-8 are rejected", async () => {
    const workspace = new TemporaryWorkspace({ "latin.txt": Buffer.from([0x61, 0xe9, 0x62]) });
    await workspace.call("read", { path: "latin.txt" });
    expect((await workspace.refusal("edit", { path: "none.txt", old: "a", new: "b" })).message).toBe(
      'Cannot edit "none.txt": it does not exist.',
    );
    expect((await workspace.refusal("edit", { path: "latin.txt", old: "a", new: "b" })).message).toContain("is not UTF-8");
  });

  test.each([
    ["one match", "a b c", { old: "b", new: "B" }, "a B c"],
    ["all matches", "a b a", { old: "a", new: "aa", replaceAll: true }, "aa b aa"],
    ["patterns of replacement taken as they are", "a b", { old: "b", new: "$& $1 $`" }, "a $& $1 $`"],
    ["overlaps counted once", "aaa", { old: "aa", new: "b", replaceAll: true }, "ba"],
    ["deletion", "a\nb\nc\n", { old: "b\n", new: "" }, "a\nc\n"],
    ["Windows line ends kept", "a\r\nb\r\nc\r\n", { old: "a\nb", new: "x\ny\nz" }, "x\r\ny\r\nz\r\nc\r\n"],
    ["the line ends of most lines", "a\nb\r\nc\nd\n", { old: "c", new: "c1\nc2" }, "a\nb\r\nc1\nc2\nd\n"],
    ["Windows line ends next to others", "a\nb\r\nc\r\nd\n", { old: "b\nc", new: "x\ny" }, "a\nx\r\ny\r\nd\n"],
    ["a line taken out with the Windows line end before it", "a\r\nb\r\nc\r\n", { old: "\nb", new: "" }, "a\r\nc\r\n"],
    ["a plain line end before the same text behind a Windows one", "a\r\nb\nb\n", { old: "\nb", new: "\nc" }, "a\r\nb\nc\n"],
    ["a byte order mark kept", "\ufeffa", { old: "a", new: "b" }, "\ufeffb"],
  ])("F1.66 applies an edit: %s", async (_what, content, input, after) => {
    expect((await edit(content, input))[1]).toBe(after);
  });

  test("F1.66 an edit has the same result in a file with Windows line endings", () => {
    const ofLength = (length: number): readonly string[] =>
      length === 0 ? [""] : ofLength(length - 1).flatMap((text) => [`${text}a`, `${text}\n`]);
    const inWindows = (text: string): string => text.replaceAll("\n", "\r\n");
    for (const text of ofLength(5).filter((text) => text.includes("\n"))) {
      for (const old of [1, 2, 3].flatMap(ofLength)) {
        for (const replacement of ["", "b", "\n", "\nb", `${old}b`, `b${old}`]) {
          const edit = { old, new: replacement, replaceAll: true };
          const plain = applyEdit(text, edit);
          expect([edit, applyEdit(inWindows(text), edit)]).toEqual([
            edit,
            "text" in plain ? { ...plain, text: inWindows(plain.text) } : plain,
          ]);
        }
      }
    }
  });

  test("F1.66 the answer reports the number of replacements and the line of the first", async () => {
    expect(await edit("x\na\na\n", { old: "a", new: "b", replaceAll: true })).toEqual([
      "Updated a.txt: 2 replacements, the first at line 2.",
      "x\nb\nb\n",
    ]);
  });

  const POEM = "one\n\ntwo\nthree\n\ntwo\nfour\n";
  test.each([
    [
      "one hunk",
      POEM,
      "--- a/a.txt\n+++ b/a.txt\n@@ -3,2 +3,3 @@\n two\n-three\n+THREE\n+and a half\n",
      "one\n\ntwo\nTHREE\nand a half\n\ntwo\nfour\n",
    ],
    ["two hunks with wrong lines", POEM, "@@ -40,2 +40,2 @@\n-one\n+1\n@@ -70,2 +70,2 @@\n two\n-four\n+4", "1\n\ntwo\nthree\n\ntwo\n4\n"],
    ["a line that decides between places", POEM, "@@ -6 +6 @@\n-two\n+second two\n", "one\n\ntwo\nthree\n\nsecond two\nfour\n"],
    ["an empty line whose space is lost", POEM, "@@\n one\n\n-two\n+2\n", "one\n\n2\nthree\n\ntwo\nfour\n"],
    ["lines after the last", "a\nb\n", "@@ -2,0 +3,1 @@\n+c\n", "a\nb\nc\n"],
    [
      "a file without its last line end",
      "a\nb",
      "@@ -2 +2,2 @@\n-b\n\\ No newline at end of file\n+B\n+c\n\\ No newline at end of file\n",
      "a\nB\nc",
    ],
    [
      "hunks that only add, without lines around them",
      "1\n2\n3\n4\n5\n6\n",
      "@@ -1,0 +2 @@\n+x\n@@ -3,0 +5 @@\n+y\n@@ -5,0 +8 @@\n+z\n",
      "1\nx\n2\n3\ny\n4\n5\nz\n6\n",
    ],
    [
      "a hunk that only adds, and one that its line decides on",
      "a\nb\na\nb\na\n",
      "@@ -1,0 +2 @@\n+x\n@@ -3 +4 @@\n-a\n+A\n",
      "a\nx\nb\nA\nb\na\n",
    ],
    ["the last line end added", "a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"],
    ["the last line end taken away", "a\nb\n", "@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n", "a\nb"],
    ["Windows line ends, the last one added", "a\r\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n", "a\r\nc\r\n"],
    ["Windows line ends without the last", "a\r\nb", "@@ -2 +2 @@\n-b\n+c\n", "a\r\nc"],
    ["Windows line ends without the last, and a line more", "a\r\nb", "@@ -2 +2,2 @@\n b\n+c\n", "a\r\nb\r\nc"],
    ["Windows line ends", "a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n+new\n b\n", "a\r\nnew\r\nb\r\n"],
    ["one Windows line end among others", "a\nb\nc\r\nd\n", "@@ -1 +1,2 @@\n a\n+new\n", "a\nnew\nb\nc\r\nd\n"],
    ["a byte order mark that it does not show", "\ufeffa\nb\n", "@@ -1,2 +1,3 @@\n-a\n+A\n+new\n b\n", "\ufeffA\nnew\nb\n"],
    ["a byte order mark that it shows", "\ufeffa\nb\n", "@@ -1 +1 @@\n-\ufeffa\n+\ufeffA\n", "\ufeffA\nb\n"],
    ["a byte order mark that it adds", "a\nb\n", "@@ -1 +1 @@\n-a\n+\ufeffA\n", "\ufeffA\nb\n"],
    ["lines that are said to follow a line after the last", "a\nb\n", "@@ -3,0 +4 @@\n+c\n", "a\nb\nc\n"],
    ["lines after the last, with Windows line ends", "a\r\nb\r\n", "@@ -3,0 +4 @@\n+c\n", "a\r\nb\r\nc\r\n"],
    ["the first line of an empty file", "", "@@ -0,0 +1 @@\n+a\n", "a\n"],
    ["an end of the file that is not there", "a\nb\nc\n", "@@ -2 +2 @@\n-b\n+B\n\\ No newline at end of file\n", "a\nB\nc\n"],
    ["lines that look like the marks of a diff", "-- x\n++ y\n", "@@ -1,2 +1,2 @@\n--- x\n+-- z\n ++ y\n", "-- z\n++ y\n"],
    [
      "lines before the next hunk that look like the marks of a second file",
      "a\n-- x\nb\nc\n",
      "@@ -1,2 +1,2 @@\n a\n--- x\n+++ y\n@@ -4 +4 @@\n-c\n+C\n",
      "a\n++ y\nb\nC\n",
    ],
  ])("F1.66 applies a unified diff: %s", async (_what, content, diff, after) => {
    const [text, written] = await edit(content, { diff });
    expect(written).toBe(after);
    expect(text).toMatch(/^Updated a\.txt: [123] hunks?, the first at line \d\.$/u);
  });

  test.each([
    ["no such lines", "@@ -1 +1 @@\n-five\n+5\n", "hunk 1 shows lines that are not in the file"],
    ["two places", "@@ -1 +1 @@\n-two\n+2\n", "hunk 1 fits 2 places, at lines 3, 6"],
    [
      "a second hunk before the first",
      "@@ @@\n-four\n+4\n@@ @@\n-one\n+1\n",
      "hunk 2 shows lines that are only found at line 1, and the hunk before it ends at line 7",
    ],
    ["no hunk", "two becomes 2", "diff cannot be read: it has no hunk"],
    ["a hunk that changes nothing", "@@ -1 +1 @@\n one\n", "diff cannot be read: a hunk changes nothing"],
    [
      "two files",
      "@@ @@\n-one\n+1\ndiff --git a/b.txt b/b.txt\n@@ @@\n-x\n+y\n",
      "diff cannot be read: it changes more than one file, or names this one again between its hunks",
    ],
    [
      "two files without a line of git",
      "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+1\n--- b.txt\t2026-01-01\n+++ b.txt\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n",
      "diff cannot be read: it changes more than one file, or names this one again between its hunks",
    ],
    [
      "two files whose counts are wrong",
      "@@ -1,7 +1,7 @@\n-one\n+1\n--- b.txt\n+++ b.txt\n@@\n-x\n+y\n",
      "diff cannot be read: it changes more than one file, or names this one again between its hunks",
    ],
    [
      "two files of diff -r",
      "@@ -1 +1 @@\n-one\n+1\ndiff -ru a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n",
      "diff cannot be read: it changes more than one file, or names this one again between its hunks",
    ],
    ["a deleted file", "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "diff cannot be read: it renames or deletes the file"],
    ["a renamed file", "rename from a.txt\nrename to b.txt\n@@ @@\n-one\n+1\n", "diff cannot be read: it renames or deletes the file"],
    ["other text", "@@ @@\n-one\n+1\nThat is all.", 'diff cannot be read: "That is all." begins with neither a space, "-" nor "+"'],
  ])("F1.66 a unified diff that does not apply is an error and leaves the file unchanged: %s", async (_what, diff, problem) => {
    expect(await edit(POEM, { diff })).toEqual([`Cannot edit "a.txt": ${problem}. Nothing was written.`, POEM]);
  });

  test.each([
    [{}, ["$.old: is missing: give old and new, or diff", "$.new: is missing: give old and new, or diff"]],
    [{ old: "a" }, ["$.new: is missing: give old and new, or diff"]],
    [{ old: "a", new: "b", diff: "x" }, ["$.diff: cannot be combined with old, new and replaceAll"]],
  ])("F1.66 an incomplete edit, or one that combines old/new with a diff, is rejected: %j", async (input, details) => {
    const workspace = new TemporaryWorkspace({ "a.txt": "a" });
    const runtime = createRuntime({ toolsets: [filesToolset({ root: workspace.root })] });
    const result = await runtime.execute({ name: "files::edit", input: { path: "a.txt", ...input } });
    expect([result.error?.code, result.error?.details]).toEqual(["invalid_input", details]);
  });

  test("F1.66 an edit that would make the file too large is rejected", async () => {
    expect(await edit("a".repeat(90_000), { old: "a", new: "b".repeat(1000), replaceAll: true })).toEqual([
      expect.stringContaining("90000 replacements would make the file too large"),
      "a".repeat(90_000),
    ]);
  });
});

describe("F1.66 multi_edit", () => {
  const EDITS = [
    { old: "one", new: "1" },
    { old: "none", new: "x" },
    { old: "three", new: "3" },
  ];
  const open = async (): Promise<TemporaryWorkspace> => {
    const workspace = new TemporaryWorkspace({ "a.txt": "one two three" });
    await workspace.call("read", { path: "a.txt" });
    return workspace;
  };

  test.each([{}, { mode: "strict" }])("F1.66 strict, the default: one failed edit leaves the file byte-identical %j", async (mode) => {
    const workspace = await open();
    const error = await workspace.refusal("multi_edit", { path: "a.txt", edits: [...EDITS, { old: "nothing", new: "" }], ...mode });
    expect([error.message, error.details]).toEqual([
      '2 of 4 edits of "a.txt" failed. Nothing was written.',
      [expect.stringMatching(/^edit 2 failed: old does not occur/), expect.stringMatching(/^edit 4 failed: old does not occur/)],
    ]);
    expect(workspace.text("a.txt")).toBe("one two three");
  });

  test("F1.66 partial applies the edits before the first failure and reports on each edit", async () => {
    const workspace = await open();
    expect((await workspace.call("multi_edit", { path: "a.txt", edits: EDITS, mode: "partial" })).output).toEqual({
      path: "a.txt",
      edits: [
        { edit: 1, status: "applied", note: "1 replacement, the first at line 1" },
        { edit: 2, status: "failed", note: expect.stringContaining("old does not occur") },
        { edit: 3, status: "skipped", note: "an edit before it failed" },
      ],
    });
    expect(workspace.text("a.txt")).toBe("1 two three");
  });

  test("F1.66 best_effort applies every edit that can be applied", async () => {
    const workspace = await open();
    const { text } = await workspace.call("multi_edit", { path: "a.txt", edits: EDITS, mode: "best_effort" });
    expect(text.split("\n")).toEqual([
      "Updated a.txt: 2 of 3 edits applied.",
      "edit 1 applied: 1 replacement, the first at line 1",
      expect.stringMatching(/^edit 2 failed/),
      "edit 3 applied: 1 replacement, the first at line 1",
    ]);
    expect(workspace.text("a.txt")).toBe("1 two 3");
  });

  test.each(["partial", "best_effort"])("F1.66 %s is an error if no edit can be applied", async (mode) => {
    const workspace = await open();
    expect((await workspace.refusal("multi_edit", { path: "a.txt", edits: [EDITS[1]], mode })).message).toContain("1 of 1 edit of");
  });

  test("F1.66 edits are applied in order, each to the result of the ones before it", async () => {
    const workspace = await open();
    await workspace.call("multi_edit", {
      path: "a.txt",
      edits: [
        { old: "one", new: "two" },
        { old: "two", new: "2", replaceAll: true },
      ],
    });
    expect(workspace.text("a.txt")).toBe("2 2 three");
  });
});

/** A call that has written its temporary file, and stands before it is flushed. */
async function heldAtFlush<T>(call: () => Promise<T>): Promise<{ readonly answer: Promise<T>; readonly goOn: () => void }> {
  const handle = await open("/", "r");
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const flush = vi.spyOn(prototype, "sync");
  onTestFinished(() => flush.mockRestore());
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  flush.mockImplementationOnce(() => {
    held.resolve();
    return released.promise;
  });
  const answer = call();
  await Promise.race([held.promise, answer]);
  return { answer, goOn: released.resolve };
}
