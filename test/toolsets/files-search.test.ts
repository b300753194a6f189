import { chmodSync, mkdirSync, symlinkSync, truncateSync, utimesSync, rmSync, writeFileSync } from "node:fs";
import { sep } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createIgnoreRules } from "../../src/toolsets/files/ignore-rules.ts";
import { Walk } from "../../src/toolsets/files/walk.ts";
import { Workspace } from "../../src/toolsets/files/workspace-path.ts";
import { TemporaryWorkspace } from "./temporary-workspace.ts";
import { testInCI } from "../test-in-ci.ts";

const numbered = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_none, index) => [`f${String(index).padStart(3, "0")}.txt`, "x\n"]));

describe("F1.67 glob", () => {
  const paths = async (workspace: TemporaryWorkspace, input: Readonly<Record<string, unknown>>): Promise<readonly string[]> => {
    const { output } = await workspace.call("glob", input);
    return [...(output as { paths: string[] }).paths].sort(); // glob's output, as its own description has it
  };

  test("F1.67 a pattern that leaves the workspace, is too long or has too many alternatives is an error", async () => {
    const workspace = new TemporaryWorkspace();
    for (const pattern of ["../*", "/etc/*", "a/../../*", "x".repeat(1001), "{a,b}".repeat(7)]) {
      expect([pattern.slice(0, 20), (await workspace.refusal("glob", { pattern })).code]).toEqual([pattern.slice(0, 20), "invalid_input"]);
    }
    expect((await workspace.refusal("glob", { pattern: "*", path: "none" })).message).toContain("does not exist");
  });

  test("F1.67 files come newest first", async () => {
    const workspace = new TemporaryWorkspace({ "old.ts": "", "new.ts": "", "sub/middle.ts": "", "other.js": "" });
    for (const [path, day] of [
      ["old.ts", 1],
      ["sub/middle.ts", 2],
      ["new.ts", 3],
    ] as const) {
      utimesSync(workspace.path(path), new Date(2026, 0, day), new Date(2026, 0, day));
    }
    expect(await workspace.call("glob", { pattern: "**/*.ts" })).toMatchObject({
      text: "new.ts\nsub/middle.ts\nold.ts",
      output: { paths: ["new.ts", "sub/middle.ts", "old.ts"], more: false },
    });
  });

  test("F1.67 returns 100 files by default and says that more match; limit changes the number", async () => {
    const workspace = new TemporaryWorkspace(numbered(101));
    const { text, output } = await workspace.call("glob", { pattern: "*.txt" });
    expect([text.split("\n").length, text.split("\n").at(-1)]).toEqual([101, "(more files match; the 100 newest of 101 are shown)"]);
    expect(output).toMatchObject({ more: true });
    expect(await paths(workspace, { pattern: "*.txt", limit: 101 })).toHaveLength(101);
    expect(await workspace.say("glob", { pattern: "*.md" })).toBe("(no file matches *.md)");
  });

  test("F1.67 follows .gitignore with nested files, negation, folders and anchors, and always skips node_modules and .git", async () => {
    const workspace = new TemporaryWorkspace({
      ".gitignore": "# comment\n*.log\n!keep.log\nbuild/\n/top.txt\ndocs/*.tmp\n\\#odd\n**/deep/*.bak\n",
      "a.log": "",
      "keep.log": "",
      "build/out.js": "",
      "sub/build/out.js": "",
      "sub/builds": "",
      "top.txt": "",
      "sub/top.txt": "",
      "docs/a.tmp": "",
      "docs/x/a.tmp": "",
      "#odd": "",
      "x/deep/a.bak": "",
      "sub/.gitignore": "!a.log\nsecret.*\n",
      "sub/a.log": "",
      "sub/b.log": "",
      "sub/secret.txt": "",
      "secret.txt": "",
      "node_modules/m/index.js": "",
      "sub/node_modules/m/index.js": "",
      ".git/config": "",
    });
    expect(await paths(workspace, { pattern: "**" })).toEqual([
      ".gitignore",
      "docs/x/a.tmp",
      "keep.log",
      "secret.txt",
      "sub/.gitignore",
      "sub/a.log",
      "sub/builds",
      "sub/top.txt",
    ]);
    expect(await paths(workspace, { pattern: "**", path: "sub" })).toEqual(["sub/.gitignore", "sub/a.log", "sub/builds", "sub/top.txt"]);
    expect(await paths(workspace, { pattern: "**", path: "node_modules/m" })).toEqual(["node_modules/m/index.js"]);
  });

  test("F1.67 a file name with a line break is quoted", async () => {
    const workspace = new TemporaryWorkspace({ "a\nREAD ME.txt": "" });
    expect(await workspace.say("glob", { pattern: "*" })).toBe('"a\\nREAD ME.txt"');
  });
});

describe("F1.67 grep", () => {
  test.each(["(", "[", "a{2,1}", "*", "(a)\\1"])(
    "F1.67 the unusable pattern %s is an error, not a search without matches",
    async (pattern) => {
      const workspace = new TemporaryWorkspace({ "a.txt": pattern });
      expect(await workspace.refusal("grep", { pattern })).toMatchObject({
        code: "invalid_input",
        message: expect.stringMatching(/^Cannot search: /),
      });
    },
  );

  test("F1.67 a path that does not exist is an error", async () => {
    const workspace = new TemporaryWorkspace();
    expect((await workspace.refusal("grep", { pattern: "a", path: "none" })).message).toBe('Cannot search "none": it does not exist.');
  });

  test("F1.67 matches are sorted by path and line, as text and as data", async () => {
    const workspace = new TemporaryWorkspace({ "b.txt": "one\ntwo\n", "a/c.txt": "no\r\nstone\r\n", "z.bin": "one", "n.txt": "one\u0000" });
    expect(await workspace.call("grep", { pattern: "one$" })).toMatchObject({
      text: "b.txt:1: one\na/c.txt:2: stone",
      output: {
        matches: [
          { path: "b.txt", line: 1, text: "one" },
          { path: "a/c.txt", line: 2, text: "stone" },
        ],
        more: false,
      },
    });
  });

  test("F1.67 glob filters by name or by path, and path is a folder or a file", async () => {
    const workspace = new TemporaryWorkspace({ "a.ts": "x", "src/b.ts": "x", "src/c.js": "x", "lib/d.ts": "x" });
    expect(await workspace.say("grep", { pattern: "x", glob: "*.ts" })).toBe("a.ts:1: x\nlib/d.ts:1: x\nsrc/b.ts:1: x");
    expect(await workspace.say("grep", { pattern: "x", glob: "src/*.{js,ts}" })).toBe("src/b.ts:1: x\nsrc/c.js:1: x");
    expect(await workspace.say("grep", { pattern: "x", path: "src", glob: "*.js" })).toBe("src/c.js:1: x");
    for (const glob of [{}, { glob: "*.ts" }, { glob: "src/*.ts" }, { glob: "*.js" }])
      expect(await workspace.say("grep", { pattern: "x", path: "src/b.ts", ...glob })).toBe("src/b.ts:1: x");
  });

  test("F1.67 a byte order mark is not part of the first line", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "\ufefffirst\n\ufefffirst\n" });
    expect((await workspace.call("grep", { pattern: "^first" })).output).toEqual({
      matches: [{ path: "a.txt", line: 1, text: "first" }],
      more: false,
    });
  });

  test.skipIf(sep === "\\")("F1.67 a backslash in a file name is a character, not a separator, where the system allows it", async () => {
    const workspace = new TemporaryWorkspace({ "back\\slash.txt": "x" });
    for (const pattern of ["*.txt", "back*", "**/*slash.txt"])
      expect((await workspace.call("glob", { pattern })).output).toMatchObject({ paths: ["back\\slash.txt"] });
    expect((await workspace.call("glob", { pattern: "slash.txt" })).output).toMatchObject({ paths: [] });
    expect((await workspace.call("grep", { pattern: "x", glob: "back*" })).output).toMatchObject({ matches: [{ text: "x" }] });
  });

  test("F1.67 returns 50 matches by default and says that more exist", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "x\n".repeat(30), "b.txt": "x\n".repeat(21) });
    const lines = (await workspace.say("grep", { pattern: "x" })).split("\n");
    expect([lines.length, lines[49], lines[50]]).toEqual([
      51,
      "b.txt:20: x",
      "(more matches exist; only 50 are shown: narrow the pattern, path or glob)",
    ]);
    expect((await workspace.say("grep", { pattern: "x", limit: 51 })).split("\n").at(-1)).toBe("b.txt:21: x");
  });

  test("F1.67 context shows the surrounding lines, each once, with separate groups", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "1\n2\nx3\n4\nx5\n6\n7\n8\n9\nx10\n" });
    expect(await workspace.say("grep", { pattern: "x", context: 1 })).toBe(
      ["a.txt-2- 2", "a.txt:3: x3", "a.txt-4- 4", "a.txt:5: x5", "a.txt-6- 6", "--", "a.txt-9- 9", "a.txt:10: x10"].join("\n"),
    );
  });

  test("F1.67 ignored files are not searched, unless path names one", async () => {
    const workspace = new TemporaryWorkspace({ ".gitignore": "*.log\n", "a.log": "x", "a.txt": "x" });
    expect(await workspace.say("grep", { pattern: "x" })).toBe("a.txt:1: x");
    expect(await workspace.say("grep", { pattern: "x", path: "a.log" })).toBe("a.log:1: x");
  });

  test("F1.67 only the first 10,000 characters of a long line are searched, and the line is shown cut", async () => {
    const workspace = new TemporaryWorkspace({
      "a.txt": `${"y".repeat(9_000)}x${"y".repeat(700_000)}x\nlast x\n`,
      "b.txt": `${"y".repeat(10_000)}x`,
    });
    const lines = (await workspace.say("grep", { pattern: "x" })).split("\n");
    expect(lines.map((line) => [line.slice(0, 12), line.length])).toEqual([
      ["a.txt:1: yyy", expect.any(Number)],
      ["a.txt:2: las", 15],
      ["(lines of wh", expect.any(Number)],
    ]);
    expect(lines[0]?.length).toBeLessThan(600);
    expect(lines[0]).toMatch(/… \(line cut; total length unknown\)$/u);
    expect(lines[2]).toBe("(lines of which only the first 10000 characters were searched: 1)");
  });

  test("F1.67 a match in a shown line that is cut has the length of the whole line in bytes", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": `x${"é".repeat(600)}\n` });
    expect(await workspace.say("grep", { pattern: "x" })).toMatch(/… \(line cut; 1201 bytes in all\)$/u);
  });

  test.each([
    ["a.zip", "x", "its extension is .zip"],
    ["a.txt", "text\u0000text", "it contains NUL bytes"],
  ])("F1.35 F1.67 a binary file that path names is rejected, not reported as without a match: %s", async (path, content, reason) => {
    const workspace = new TemporaryWorkspace({ [path]: content });
    expect((await workspace.refusal("grep", { pattern: "x", path })).message).toBe(`"${path}" is a binary file: ${reason}.`);
    expect(await workspace.say("grep", { pattern: "x" })).toBe("(no line matches x)");
  });

  test("A10 a pattern with catastrophic backtracking elsewhere takes linear time and does not block the event loop", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": `${"a".repeat(9_000)}!\n`.repeat(20) });
    let longest = 0;
    let last = process.hrtime.bigint();
    const timer = setInterval(() => {
      const now = process.hrtime.bigint();
      longest = Math.max(longest, Number(now - last) / 1e6);
      last = now;
    }, 1);
    expect(await workspace.say("grep", { pattern: "^(a+)+$" })).toBe("(no line matches ^(a+)+$)");
    clearInterval(timer);
    expect(longest).toBeLessThan(1000);
  });
});

describe("F1.67 list", () => {
  test("F1.67 a file and a missing path are rejected, because they are not folders", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "" });
    expect((await workspace.refusal("list", { path: "a.txt" })).message).toContain("file, not a folder");
    expect((await workspace.refusal("list", { path: "none" })).message).toContain("does not exist");
  });

  test("F1.67 lists one level, or more with depth, marks folders and links, and counts ignored entries", async () => {
    const workspace = new TemporaryWorkspace({ ".gitignore": "*.log\n", "a.log": "", "src/a.ts": "", "src/deep/b.ts": "", "z.md": "" });
    symlinkSync("z.md", workspace.path("link"));
    mkdirSync(workspace.path("empty"));
    expect(await workspace.say("list", {})).toBe(".gitignore\nempty/\nlink@\nsrc/\nz.md\n(1 ignored, not shown)");
    expect((await workspace.call("list", { path: "src", depth: 2 })).output).toEqual({
      path: "src",
      entries: ["src/a.ts", "src/deep/", "src/deep/b.ts"],
      more: false,
    });
    expect(await workspace.say("list", { path: "empty" })).toBe("(empty is empty)");
  });

  test("F1.67 a subfolder that disappears during the walk is skipped, and the answer says so", async () => {
    const workspace = new TemporaryWorkspace({ "a/1.txt": "", "gone/2.txt": "", "z/3.txt": "" });
    const { enter } = Walk.prototype;
    vi.spyOn(Walk.prototype, "enter").mockImplementation(async function (this: Walk, level, entry) {
      const entered = await enter.call(this, level, entry);
      rmSync(workspace.path("gone"), { recursive: true, force: true });
      return entered;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const note = "(folders that could not be opened and are not listed: 1)";
    expect(await workspace.say("list", { depth: 2 })).toBe(`a/\na/1.txt\ngone/\nz/\nz/3.txt\n${note}`);
  });

  test("F1.67 returns 100 entries, the upper level first, and says that more exist", async () => {
    const workspace = new TemporaryWorkspace({
      ...numbered(60),
      ...Object.fromEntries(Object.keys(numbered(60)).map((name) => [`a/${name}`, ""])),
    });
    const lines = (await workspace.say("list", { depth: 2 })).split("\n");
    expect(lines).toHaveLength(101);
    expect(lines.filter((line) => !line.startsWith("a/f"))).toHaveLength(62);
    expect(lines.at(-1)).toBe("(more entries exist; only 100 are shown: list a subfolder, or use glob)");
  });

  test.skipIf(process.getuid?.() === 0)(
    "F1.67 an unreadable folder is an error if it is the listed one, and is skipped below it",
    async () => {
      const workspace = new TemporaryWorkspace({ "closed/a.txt": "x", "b.txt": "x" });
      chmodSync(workspace.path("closed"), 0o000);
      expect((await workspace.refusal("list", { path: "closed" })).code).toBe("permission_denied");
      expect(await workspace.say("list", { depth: 2 })).toBe("b.txt\nclosed/\n(folders that could not be opened and are not listed: 1)");
      expect(await workspace.say("grep", { pattern: "x" })).toBe("b.txt:1: x\n(folders that could not be opened and were not searched: 1)");
      chmodSync(workspace.path("closed"), 0o700);
    },
  );

  test.skipIf(process.getuid?.() === 0)(
    "F1.67 glob finds files in a folder whose names can be read but whose files cannot be opened",
    async () => {
      const workspace = new TemporaryWorkspace({ "names/a.txt": "x", "b.txt": "x" });
      chmodSync(workspace.path("names"), 0o400);
      expect(await workspace.say("glob", { pattern: "**/*.txt" })).toBe("b.txt\nnames/a.txt");
      chmodSync(workspace.path("names"), 0o700);
    },
  );

  test.skipIf(process.platform !== "linux")(
    "F1.67 a file that the system opens but cannot read is counted, and does not hide the matches of other files",
    async () => {
      const workspace = new TemporaryWorkspace({}, { root: `/proc/self/task/${process.pid}` }); // reading `mem` at its start is an error
      const text = await workspace.say("grep", { pattern: ".", glob: "{comm,mem}" });
      expect(text).toMatch(/^comm:1: .+\n\(1 file could not be read to the end\)$/u);
      expect((await workspace.refusal("grep", { pattern: ".", path: "mem" })).message).toMatch(/^Cannot read "mem": /u);
    },
  );

  testInCI("F1.67 an endless line does not make the search exceed its limit", async () => {
    const workspace = new TemporaryWorkspace({ "a.log": `start\n${"x".repeat(9_000)}` });
    truncateSync(workspace.path("a.log"), 100 * 1024 ** 3);
    expect(await workspace.say("grep", { pattern: "start" })).toBe(
      "a.log:1: start\n(stopped after 256 MiB; search in a subfolder)\n(lines of which only the first 10000 characters were searched: 1)",
    );
  });
});

test("F1.67 a walk stops after its maximum number of entries and reports it", async () => {
  const workspace = new TemporaryWorkspace({ "a/1": "", "a/2": "", "b/3": "", "b/4": "" });
  const walkAll = async (maxEntries: number): Promise<readonly [readonly string[], boolean]> => {
    const walk = new Walk({
      workspace: new Workspace({ root: workspace.root, guard: "block", allowSensitive: [] }),
      signal: new AbortController().signal,
      maxEntries,
    });
    const names: string[] = [];
    const start = await walk.start({ real: workspace.root, shown: ".", existing: workspace.root, missing: [] });
    for await (const { name } of walk.files(start)) names.push(name);
    return [names, walk.stopped];
  };
  expect(await walkAll(6)).toEqual([["1", "2", "3", "4"], false]);
  expect(await walkAll(4)).toEqual([["1", "2"], true]);
});

test("a folder that cannot be opened during a walk is counted, so that the answer can report it", async () => {
  const workspace = new TemporaryWorkspace({ "a.txt": "", "z/b.txt": "" });
  const walk = new Walk({
    workspace: new Workspace({ root: workspace.root, guard: "block", allowSensitive: [] }),
    signal: new AbortController().signal,
  });
  const start = await walk.start({ real: workspace.root, shown: ".", existing: workspace.root, missing: [] });
  const names: string[] = [];
  for await (const { name } of walk.files(start)) {
    names.push(name);
    rmSync(workspace.path("z"), { recursive: true });
  }
  expect([names, walk.unopenedCount]).toEqual([["a.txt"], 1]);
});

test("a file name with a right-to-left mark is shown with the mark escaped", async () => {
  const workspace = new TemporaryWorkspace({ "invoice\u202egpj.txt": "x" });
  expect(await workspace.say("glob", { pattern: "**" })).toBe('"invoice\\u202egpj.txt"');
  expect(await workspace.say("grep", { pattern: "x" })).toBe('"invoice\\u202egpj.txt":1: x');
});

test("nested ignore files have at most 2,000 rules together", () => {
  const text = Array.from({ length: 1_500 }, (_, index) => `a${index}`).join("\n");
  const outer = createIgnoreRules(undefined, text);
  const middle = createIgnoreRules(outer, text);
  const inner = createIgnoreRules(createIgnoreRules(middle, text), "b");
  expect([outer.count, middle.count, inner.count]).toEqual([1_000, 2_000, 2_000]);
});

test.skipIf(process.platform !== "linux")(
  "files and folders whose names are not UTF-8 are counted, and never taken for others whose names look the same",
  async () => {
    const workspace = new TemporaryWorkspace({ "a\ufffd.txt": "found here\n" });
    const bytesOf = (name: string): Buffer => Buffer.concat([Buffer.from(`${workspace.root}/`), Buffer.from(name, "latin1")]);
    for (const name of ["a\xff.txt", "b\xff.txt"]) writeFileSync(bytesOf(name), "not found\n");
    mkdirSync(bytesOf("c\xff"));
    expect(await workspace.say("list", {})).toBe("a\ufffd.txt\n(not listed, as their names are not UTF-8: 3)");
    expect(await workspace.say("glob", { pattern: "*.txt" })).toBe("a\ufffd.txt\n(not searched, as their names are not UTF-8: 3)");
    expect(await workspace.say("grep", { pattern: "found" })).toBe(
      "a\ufffd.txt:1: found here\n(not searched, as their names are not UTF-8: 3)",
    );
  },
);
