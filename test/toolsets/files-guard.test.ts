import { chmodSync, linkSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { filesToolset } from "../../src/toolsets/files.ts";
import { sensitivityOf } from "../../src/toolsets/files/sensitive-paths.ts";
import { segmentsBelow, findWindowsNameProblem } from "../../src/toolsets/files/workspace-path.ts";
import { FakeSession, TemporaryWorkspace } from "./temporary-workspace.ts";
import { testInCI } from "../test-in-ci.ts";

/** Every tool that takes a path, with an input that would show or change what lies there. */
const TOUCHES: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["read", {}],
  ["list", {}],
  ["glob", { pattern: "**" }],
  ["grep", { pattern: "secret" }],
  ["json_read", { at: "" }],
  ["write", { content: "new" }],
  ["edit", { old: "secret", new: "open" }],
  ["multi_edit", { edits: [{ old: "secret", new: "open" }] }],
  ["json_write", { at: "", value: 1 }],
];

describe("the workspace", () => {
  test("a missing root, or a root that is a file, throws when the toolset is created, and the error names the path", () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "" });
    for (const root of [workspace.path("none"), workspace.path("a.txt"), ""]) {
      expect(() => filesToolset({ root })).toThrowError(
        expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(root) }),
      );
    }
  });

  test("an unknown guard throws, and the error lists the valid guards", () => {
    const workspace = new TemporaryWorkspace();
    const guard: never = "wran" as never; // what a program without types may pass
    expect(() => filesToolset({ root: workspace.root, guard })).toThrowError(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining('"warn"') }),
    );
  });

  test("a deleted workspace is reported as unavailable, not as a path outside the workspace", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "a" });
    rmSync(workspace.root, { recursive: true });
    expect(await workspace.refusal("read", { path: "a.txt" })).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(workspace.root),
    });
  });

  test("readOnly leaves out every tool that changes files", () => {
    const workspace = new TemporaryWorkspace();
    const names = filesToolset({ root: workspace.root, readOnly: true, name: "docs" }).tools?.map(({ name }) => name);
    expect(names).toEqual(["read", "list", "glob", "grep", "json_read"]);
  });

  test("every tool declares its effects by the canonical path, without following links", () => {
    const workspace = new TemporaryWorkspace();
    const keys = (name: string, input: Record<string, string>): unknown => {
      const { reads, writes } = workspace.tool(name).effects ?? {};
      return [typeof reads === "function" ? reads(input) : reads, typeof writes === "function" ? writes(input) : writes];
    };
    const file = `file:${workspace.root}/a/b.txt`;
    expect(keys("read", { path: "x/../a//b.txt" })).toEqual([[file], []]);
    expect(keys("edit", { path: workspace.path("a/b.txt") })).toEqual([undefined, [file]]);
    expect(keys("write", { path: "./a/b.txt" })).toEqual([undefined, [file]]);
    expect(keys("glob", { pattern: "**" })).toEqual([[`file:${workspace.root}`], []]);
    expect(keys("list", { path: "a" })).toEqual([[`file:${workspace.root}/a`], []]);
    for (const tool of filesToolset({ root: workspace.root }).tools ?? []) expect(tool.effects?.writes).toBeDefined();
  });

  test("F1.31 a relative path is resolved against the workspace, not against the process's working directory", async () => {
    const workspace = new TemporaryWorkspace({ "package.txt": "mine" });
    expect(await workspace.say("read", { path: "package.txt" })).toBe("     1\tmine");
  });

  test("a root given as a symbolic link accepts paths through the link and through its target", async () => {
    const workspace = new TemporaryWorkspace({ "a.txt": "a" });
    const alias = join(workspace.outside, "alias");
    symlinkSync(workspace.root, alias);
    const tool = filesToolset({ root: alias }).tools?.find(({ name }) => name === "read");
    for (const path of [join(alias, "a.txt"), workspace.path("a.txt")]) {
      await expect(tool?.execute?.({ path } as never, new FakeSession().context())).resolves.toMatchObject({ output: { path: "a.txt" } });
    }
  });
});

describe("F1.34 the path guard", () => {
  test.each(TOUCHES)("F1.34 block: %s rejects a path outside the workspace and changes nothing there", async (name, input) => {
    const workspace = new TemporaryWorkspace();
    const secret = join(workspace.outside, "secret.json");
    writeFileSync(secret, '"secret"');
    for (const path of [secret, "../outside/secret.json"]) {
      expect(await workspace.refusal(name, { ...input, path })).toMatchObject({ code: "permission_denied", retryable: false });
    }
    expect(readFileSync(secret, "utf8")).toBe('"secret"');
  });

  test.each(TOUCHES)("F1.34 %s rejects a link that points out of the workspace", async (name, input) => {
    const workspace = new TemporaryWorkspace();
    writeFileSync(join(workspace.outside, "secret.json"), '"secret"');
    symlinkSync(workspace.outside, workspace.path("folder"));
    symlinkSync(join(workspace.outside, "secret.json"), workspace.path("file.json"));
    for (const path of ["folder/secret.json", "folder/new.json", "file.json"]) {
      expect((await workspace.refusal(name, { ...input, path })).code).toBe("permission_denied");
    }
    expect(readdirSync(workspace.outside)).toEqual(["secret.json"]);
    expect(readFileSync(join(workspace.outside, "secret.json"), "utf8")).toBe('"secret"');
  });

  test("F1.34 block: the error does not reveal whether a path outside the workspace exists", async () => {
    const workspace = new TemporaryWorkspace();
    writeFileSync(join(workspace.outside, "secret.json"), "{}");
    symlinkSync(join(workspace.outside, "gone"), join(workspace.outside, "dead"));
    for (const name of ["secret.json", "none", "dead", "secret.json/below"]) {
      const path = join(workspace.outside, name);
      const lies = `${JSON.stringify(path)} lies outside the workspace ${workspace.root}.`;
      expect(await workspace.refusal("read", { path })).toMatchObject({ code: "permission_denied", message: lies });
    }
  });

  test("F1.34 warn: the first access outside is refused and the second is allowed, only for that path and session", async () => {
    const workspace = new TemporaryWorkspace({}, { guard: "warn" });
    writeFileSync(join(workspace.outside, "a.txt"), "a");
    writeFileSync(join(workspace.outside, "b.txt"), "b");
    const path = join(workspace.outside, "a.txt");
    expect(await workspace.refusal("read", { path })).toMatchObject({ code: "permission_denied", hint: expect.stringContaining("again") });
    expect(await workspace.say("read", { path: "../outside/a.txt" })).toBe("     1\ta");
    expect((await workspace.refusal("read", { path: join(workspace.outside, "b.txt") })).code).toBe("permission_denied");
    expect((await workspace.refusal("read", { path }, new FakeSession())).code).toBe("permission_denied");
  });

  test("F1.34 warn: repeated calls in one message are all refused, because the model has not seen the warning yet", async () => {
    const workspace = new TemporaryWorkspace();
    writeFileSync(join(workspace.outside, "a.txt"), "a");
    const runtime = createRuntime({ toolsets: [filesToolset({ root: workspace.root, guard: "warn" })] });
    onTestFinished(async () => void (await runtime.close()));
    const session = runtime.session();
    const read = { name: "files::read", input: { path: "../outside/a.txt" } };
    const write = { name: "files::write", input: { path: "../outside/new.txt", content: "x" } };
    const first = await session.execute([read, read, write, write]);
    expect(first.map(({ error }) => error?.code)).toEqual(first.map(() => "permission_denied"));
    const second = await session.execute([read, read, write]);
    expect(second.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
  });

  test("F1.34 warn: a warning that is not shown to the model allows nothing", async () => {
    const workspace = new TemporaryWorkspace({}, { guard: "warn" });
    writeFileSync(join(workspace.outside, "a.txt"), "a");
    const path = join(workspace.outside, "a.txt");
    workspace.session.showsResults = false;
    for (let times = 0; times < 2; times++) expect((await workspace.refusal("read", { path })).code).toBe("permission_denied");
    workspace.session.showsResults = true;
    expect(await workspace.say("read", { path })).toBe("     1\ta");
  });

  test.each([true, "call_1"])("F1.34 warn: a warning stored as %j by an earlier version is honoured", async (mark) => {
    const workspace = new TemporaryWorkspace({}, { guard: "warn" });
    writeFileSync(join(workspace.outside, "a.txt"), "a");
    workspace.session.values.set(`outside:${join(workspace.outside, "a.txt")}`, mark);
    expect(await workspace.say("read", { path: "../outside/a.txt" })).toBe("     1\ta");
  });

  test("F1.34 off: any path is allowed, but sensitive files such as .bashrc are still not written", async () => {
    const workspace = new TemporaryWorkspace({}, { guard: "off" });
    const path = join(workspace.outside, "a.txt");
    expect(await workspace.say("write", { path, content: "a" })).toBe(`Created ${path} (1 byte).`);
    expect((await workspace.refusal("write", { path: join(workspace.outside, ".bashrc"), content: "x" })).code).toBe("permission_denied");
  });
});

describe("G01–G03 attempts to bypass the guard", () => {
  test("G01 a sibling folder whose name begins with the workspace's name is outside", async () => {
    const workspace = new TemporaryWorkspace();
    mkdirSync(`${workspace.root}_secret`);
    writeFileSync(`${workspace.root}_secret/x`, "secret");
    for (const path of [`${workspace.root}_secret/x`, "../work_secret/x"]) {
      expect((await workspace.refusal("read", { path })).code).toBe("permission_denied");
    }
  });

  test("G01 a file whose name begins with two dots is inside", async () => {
    const workspace = new TemporaryWorkspace({ "..notes": "fine" });
    expect(await workspace.say("read", { path: "..notes" })).toBe("     1\tfine");
  });

  test("G02 /proc/self/root does not lead out of the workspace", async () => {
    const workspace = new TemporaryWorkspace();
    writeFileSync(join(workspace.outside, "x"), "secret");
    symlinkSync("/proc/self/root", workspace.path("top"));
    for (const path of [`/proc/self/root${workspace.outside}/x`, `top${workspace.outside}/x`]) {
      expect((await workspace.refusal("read", { path })).code).toBe("permission_denied");
    }
  });

  test("G02 a write through a dangling link is rejected", async () => {
    const workspace = new TemporaryWorkspace();
    symlinkSync(join(workspace.outside, "made"), workspace.path("link"));
    for (const path of ["link", "link/deep/file"]) {
      expect((await workspace.refusal("write", { path, content: "x" })).message).toContain("link to something that does not exist");
    }
    expect(readdirSync(workspace.outside)).toEqual([]);
  });

  test("G02 circular links are an error", async () => {
    const workspace = new TemporaryWorkspace();
    symlinkSync("b", workspace.path("a"));
    symlinkSync("a", workspace.path("b"));
    expect((await workspace.refusal("read", { path: "a" })).message).toContain("circular");
  });

  test("G02 a write to a hard link does not change the file outside", async () => {
    const workspace = new TemporaryWorkspace();
    writeFileSync(join(workspace.outside, "x"), "theirs");
    linkSync(join(workspace.outside, "x"), workspace.path("x"));
    await workspace.call("read", { path: "x" });
    await workspace.call("edit", { path: "x", old: "theirs", new: "mine" });
    expect([readFileSync(join(workspace.outside, "x"), "utf8"), workspace.text("x")]).toEqual(["theirs", "mine"]);
  });

  test("G02 grep and glob do not follow links out of the workspace or in circles", async () => {
    const workspace = new TemporaryWorkspace({ "a/b.txt": "secret" });
    writeFileSync(join(workspace.outside, "x.txt"), "secret");
    symlinkSync(workspace.outside, workspace.path("a/out"));
    symlinkSync(workspace.root, workspace.path("a/loop"));
    symlinkSync(join(workspace.outside, "x.txt"), workspace.path("a/x.txt"));
    expect(await workspace.say("grep", { pattern: "secret" })).toBe("a/b.txt:1: secret");
    expect((await workspace.call("glob", { pattern: "**/*.txt" })).output).toEqual({
      paths: expect.arrayContaining(["a/b.txt", "a/x.txt"]),
      more: false,
    });
  });

  testInCI(
    "G02 10,000 attempts against a folder being swapped for a link: nothing is read or written outside",
    { timeout: 240_000 },
    async () => {
      const workspace = new TemporaryWorkspace({ "swap/in/file.txt": "inside" });
      mkdirSync(join(workspace.outside, "in"));
      writeFileSync(join(workspace.outside, "in/file.txt"), "SECRET");
      const link = join(workspace.outside, "..", "link");
      symlinkSync(workspace.outside, link);
      const worker = new Worker(SWAPPER, {
        eval: true,
        workerData: { folder: workspace.path("swap"), link, hold: join(workspace.outside, "..", "hold") },
      });
      await new Promise((resolve) => worker.once("message", resolve));
      const counts = { inside: 0, refused: 0, tries: 0 };
      const count = (answer: PromiseSettledResult<{ text: string }>): void => {
        counts.tries++;
        if (answer.status === "rejected") {
          expect(answer.reason).toBeInstanceOf(ToolError);
          counts.refused++;
        } else {
          expect(answer.value.text).not.toContain("SECRET");
          counts.inside++;
        }
      };
      const end = process.hrtime.bigint() + 2_500_000_000n;
      while (counts.tries < 10_000 && process.hrtime.bigint() < end) {
        const calls = [
          ...Array.from({ length: 12 }, () => workspace.call("read", { path: "swap/in/file.txt" })),
          ...Array.from({ length: 4 }, () => workspace.call("grep", { pattern: ".", path: "swap/in", glob: "file.txt" })),
          ...Array.from({ length: 12 }, (_none, index) =>
            workspace.call("write", { path: `swap/in/${counts.tries + index}`, content: "x" }),
          ),
          ...Array.from({ length: 4 }, (_none, index) =>
            workspace.call("write", { path: `swap/in/deep-${counts.tries + index}/x`, content: "x" }),
          ),
        ];
        for (const answer of await Promise.allSettled(calls)) count(answer);
      }
      await worker.terminate();
      expect(readdirSync(workspace.outside, { recursive: true })).toEqual(["in", "in/file.txt"]);
      expect(readFileSync(join(workspace.outside, "in/file.txt"), "utf8")).toBe("SECRET");
      expect(counts.inside).toBeGreaterThan(0);
      expect(counts.refused).toBeGreaterThan(0);
    },
  );

  const SPELLINGS: readonly (readonly [string, string])[] = [
    ["parent folder", "../outside/x"],
    ["parent folder inside a path", "a/../../outside/x"],
    ["backslashes", "..\\outside\\x"],
    ["NUL", "a\u0000/../../outside/x"],
    ["home", "~/x"],
    ["home alone", "~"],
    ["drive", "C:\\x"],
    ["drive with slash", "c:/x"],
    ["file URL", "file:///etc/passwd"],
    ["short file URL", "FILE:/etc/passwd"],
    ["web URL", "https://example.com/x"],
    ["5,000 characters", "a/".repeat(2500)],
    ["a name of 300 characters", "a".repeat(300)],
    ["absolute", "/etc/passwd"],
    ["half a surrogate pair", "a\ud800"],
    ["nothing", ""],
  ];

  test.each(SPELLINGS)("G03 every tool rejects this kind of path: %s", async (_what, path) => {
    const workspace = new TemporaryWorkspace();
    writeFileSync(join(workspace.outside, "x"), "secret");
    for (const [name, input] of TOUCHES) {
      expect(["permission_denied", "invalid_input"]).toContain((await workspace.refusal(name, { ...input, path })).code);
    }
    expect(readdirSync(workspace.root)).toEqual([]);
  });

  test("a path that ends in a slash names a folder, and no file is written for it", async () => {
    const workspace = new TemporaryWorkspace();
    for (const [name, input] of [
      ["write", { content: "x" }],
      ["json_write", { at: "a", value: "1" }],
    ] as const) {
      expect((await workspace.refusal(name, { ...input, path: "sub/" })).code).toBe("invalid_input");
    }
    expect(readdirSync(workspace.root)).toEqual([]);
  });

  test.each([
    ["percent signs are not decoded", "%2e%2e/x"],
    ["trailing dots", "a.../x"],
    ["decomposed letters", "cafe\u0301/x"],
    ["full-width dots", "\uff0e\uff0e/x"],
    ["a tilde inside", "a~/x"],
    ["a dash first", "-rf"],
  ])("G03 accepts as a path inside the workspace: %s", async (_what, path) => {
    const workspace = new TemporaryWorkspace();
    await workspace.call("write", { path, content: "here" });
    expect(workspace.text(path)).toBe("here");
    expect(readdirSync(join(workspace.root, "..")).sort()).toEqual(["outside", "work"]);
  });
});

describe("G02 file names on Windows", () => {
  test.each([
    "a.txt",
    "src/main.ts",
    "src\\main.ts",
    "../x",
    ".",
    "./.env",
    "C:\\app\\a.txt",
    "c:a.txt",
    "console.log",
    "com10.txt",
    "a b.txt",
    "nul-1",
  ])("%j is accepted", (path) => expect(findWindowsNameProblem(path)).toBeUndefined());

  test.each([
    ["a.txt::$DATA", "a.txt::$DATA"],
    ["src/a.txt:hidden", "a.txt:hidden"],
    ["a.txt.", "a.txt."],
    ["src. /a.txt", "src. "],
    ["NUL", "NUL"],
    ["src\\con.txt", "con.txt"],
    ["\\\\?\\C:\\a\\com1", "com1"],
    ["a*.txt", "a*.txt"],
    ["a\nb", "a\nb"],
  ])("%j is rejected, as it could name a stream, a device or another file", (path, name) =>
    expect(findWindowsNameProblem(path)).toBe(`${JSON.stringify(name)} is not a valid file name on Windows`),
  );
});

test.each([
  ["/", "/src/a.ts", "/"],
  ["/work", "/work/src/a.ts", "/"],
  ["D:\\", "D:\\src\\a.ts", "\\"],
  ["D:\\work", "D:\\work\\src\\a.ts", "\\"],
])("patterns are matched relative to the searched folder, also when it is a whole drive: %s", (folder, path, separator) => {
  expect(segmentsBelow(folder, path, separator)).toEqual(["src", "a.ts"]);
});

describe("G04 writes to sensitive files", () => {
  const PATHS = [
    ".git/config",
    ".git/hooks/pre-commit",
    "sub/.git/config",
    ".git",
    ".GIT/config",
    ".git./config",
    ".g\u200cit/config",
    ".mcp.json",
    ".vscode/tasks.json",
    ".bashrc",
    ".ssh/authorized_keys",
    "keys/authorized_keys",
    "package.json",
    ".github/workflows/ci.yml",
    ".husky/pre-push",
    ".npmrc",
  ];

  test.each(PATHS)("G04 %s cannot be written, even inside the workspace", async (path) => {
    const workspace = new TemporaryWorkspace();
    for (const [name, input] of TOUCHES.slice(5)) {
      expect(await workspace.refusal(name, { ...input, path })).toMatchObject({
        code: "permission_denied",
        hint: "Ask the user to change it.",
        operatorHint: expect.stringContaining("allowSensitive"),
      });
    }
    expect(readdirSync(workspace.root)).toEqual([]);
  });

  test("G04 a sensitive file cannot be written through a link", async () => {
    const workspace = new TemporaryWorkspace({ ".git/config": "[core]" });
    symlinkSync(".git", workspace.path("innocent"));
    await workspace.call("read", { path: "innocent/config" });
    expect((await workspace.refusal("write", { path: "innocent/config", content: "x" })).code).toBe("permission_denied");
    expect(workspace.text(".git/config")).toBe("[core]");
  });

  test("G04 sensitive files can be read, and written where allowSensitive permits it", async () => {
    const workspace = new TemporaryWorkspace({ "package.json": "{}" }, { allowSensitive: ["package.json", ".vscode/**"] });
    await workspace.call("read", { path: "package.json" });
    await workspace.call("json_write", { path: "package.json", at: "name", value: "x" });
    await workspace.call("write", { path: ".vscode/settings.json", content: "{}" });
    expect(workspace.text("package.json")).toBe('{"name":"x"}');
    expect((await workspace.refusal("write", { path: "sub/package.json", content: "{}" })).code).toBe("permission_denied");
  });

  test("G04 new files and folders are accessible to their owner only, and a replaced file keeps its permissions", async () => {
    const workspace = new TemporaryWorkspace({ "run.sh": "echo" });
    await workspace.call("write", { path: "a/b/new.txt", content: "x" });
    chmodSync(workspace.path("run.sh"), 0o755);
    await workspace.call("read", { path: "run.sh" });
    await workspace.call("write", { path: "run.sh", content: "echo 2" });
    const modes = ["a", "a/b/new.txt", "run.sh"].map((path) => (statSync(workspace.path(path)).mode & 0o777).toString(8));
    expect(modes).toEqual(["700", "600", "755"]);
  });

  test("G04 ordinary names that look similar are not sensitive", () => {
    for (const path of [".gitignore", "git/config", "src/package.json.ts", "vscode/a", ".github/README.md", "docs/.bashrc/readme"]) {
      expect([path, sensitivityOf(path.split("/"))]).toEqual([path, undefined]);
    }
  });
});

/** Swaps a folder for a link and back until it is stopped; a folder that a write made in the gap is cleared away. */
const SWAPPER = `
const { renameSync, rmSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const { folder, link, hold } = workerData;
function move(from, to) {
  for (;;) {
    try {
      return renameSync(from, to);
    } catch {
      try {
        rmSync(to, { recursive: true, force: true });
      } catch {}
    }
  }
}
parentPort.postMessage("ready");
for (;;) {
  move(folder, hold);
  move(link, folder);
  move(folder, link);
  move(hold, folder);
}
`;
