/** What programs leave in the workspace must not undo the sandbox of those that come later, nor be run outside of it. */
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { basename, delimiter, join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { resultText } from "../../../src/core/result.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { runProgram } from "../../../src/processes/run-program.ts";
import { findBubblewrap, findProgram, sortSystemFirst } from "../../../src/processes/bubblewrap.ts";
import { HAS_PYTHON, HAS_SANDBOX, SANDBOX, bash, folderWith, openedRuntime } from "./program-room.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { testInCI } from "../../test-in-ci.ts";

afterEach(() => vi.unstubAllEnvs());

const said = async (runtime: Runtime, command: string): Promise<string> => resultText(await bash(runtime, command, 30));

/** A program that says where it ran, by a file outside of the workspace, which the sandbox does not have. */
function tellTale(outside: string): string {
  return `#!/bin/sh\nid > ${outside}/ran\nexit 0\n`;
}

function putFirst(folder: string): void {
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"]}`);
}

describe.skipIf(!HAS_SANDBOX)(`the sandbox is not weakened by files in the workspace${SANDBOX}`, { timeout: 60_000 }, () => {
  testInCI("a nested writable folder that is replaced by a link is not followed out of the workspace", async () => {
    const root = folderWith({ "a/sub/x": "" }, "/var/tmp");
    const up = join("a/sub", "..")
      .split("/")
      .concat(root.split("/").slice(1))
      .map(() => "..")
      .join("/");
    for (const options of [
      { root, write: [join(root, "a/sub")] },
      { root: join(root, "a/sub"), write: [root] },
    ]) {
      const runtime = await openedRuntime(options);
      await bash(runtime, `cd ${root}; mv a b; mkdir a; ln -s ${up}/etc a/sub`);
      const text = await said(
        runtime,
        `cd ${root}; ls a/sub/shadow; test -w /etc/passwd && echo WRITABLE; grep ' /etc ' /proc/self/mounts; true`,
      );
      expect(text).not.toMatch(/WRITABLE|\/etc ext|rw,/u);
      await bash(runtime, `cd ${root}; rm -r a; mv b a`);
      await runtime.close();
    }
  });

  test("bubblewrap and its helper programs are the system's, even if folders of the workspace come first in PATH", async () => {
    const outside = folderWith({}, "/var/tmp");
    const root = folderWith(Object.fromEntries(["bwrap", "sleep", "grep"].map((name) => [`bin/${name}`, tellTale(outside)])), "/var/tmp");
    for (const name of readdirSync(join(root, "bin"))) chmodSync(join(root, "bin", name), 0o755);
    putFirst(join(root, "bin"));
    expect(findProgram("bwrap", sortSystemFirst(process.env["PATH"] ?? ""))).not.toContain(root);
    const runtime = await openedRuntime({ root });
    expect(await said(runtime, "ls /var/tmp; echo in")).toContain("in\n");
    expect(existsSync(join(outside, "ran"))).toBe(false);
  });

  test.skipIf(!HAS_PYTHON)("an interpreter in the workspace runs only in the sandbox", async () => {
    const outside = folderWith({}, "/var/tmp");
    const root = folderWith({ "own/bin/python3": tellTale(outside) }, "/var/tmp");
    chmodSync(join(root, "own/bin/python3"), 0o755);
    putFirst(join(root, "own/bin"));
    const byName = await openedRuntime({ root }, { python: true });
    await byName.execute({ name: "python::python", input: { code: "print(1)" } });
    expect(existsSync(join(outside, "ran"))).toBe(false);
  });

  test.skipIf(!inCI || !HAS_PYTHON)(`a virtual environment in the workspace works ${IN_CI}`, async () => {
    const root = folderWith({}, "/var/tmp");
    if (spawnSync("python3", ["-m", "venv", "--without-pip", join(root, ".venv")]).status !== 0) return;
    putFirst(join(root, ".venv/bin"));
    const runtime = await openedRuntime({ root }, { python: true });
    const code = "import sys; print(sys.prefix)";
    expect(resultText(await runtime.execute({ name: "python::python", input: { code } }))).toBe(`${join(root, ".venv")}\n`);
  });

  test.skipIf(!inCI || !HAS_PYTHON)(
    `modules in the user's site-packages do not run when the interpreter is queried for its folders ${IN_CI}`,
    async () => {
      const outside = folderWith({}, "/var/tmp");
      const version = spawnSync("python3", ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], { encoding: "utf8" }).stdout.trim();
      const code = `import os; open(${JSON.stringify(join(outside, "ran"))}, "w")\n`;
      const home = folderWith({ [`.local/lib/python${version}/site-packages/x.pth`]: code }, "/var/tmp");
      vi.stubEnv("HOME", home);
      const runtime = await openedRuntime({ root: folderWith({}, "/var/tmp") }, { python: true });
      await runtime.execute({ name: "python::python", input: { code: "print(1)" } });
      expect(existsSync(join(outside, "ran"))).toBe(false);
    },
  );

  testInCI("files stay protected even if a program creates very many protected files", async () => {
    const root = folderWith({ "app/.env": "KEY=hunter2\n", ".git/config": "", "package.json": "{}" }, "/var/tmp");
    mkdirSync(join(root, ".git/hooks"));
    const attack = "cat app/.env; echo x > .git/hooks/pre-commit; echo y > package.json; true";
    for (const [count, isRun] of [
      [220, true],
      [600, false],
    ] as const) {
      const runtime = await openedRuntime({ root });
      await bash(runtime, `for i in $(seq 1 ${count}); do : > .env.$i; done`);
      const result = await bash(runtime, attack);
      expect([count, result.error?.code]).toEqual([count, isRun ? undefined : "limit_exceeded"]);
      expect(JSON.stringify(result)).not.toContain("hunter2");
      await runtime.close();
    }
    expect([existsSync(join(root, ".git/hooks/pre-commit")), readFileSync(join(root, "package.json"), "utf8")]).toEqual([false, "{}"]);
  });

  test("a program that creates more protected files than can be checked still returns its output", async () => {
    const root = folderWith({}, "/var/tmp");
    const runtime = await openedRuntime({ root });
    const text = await said(runtime, "for i in $(seq 1 600); do : > .env.$i; done; echo done");
    const why = "The workspace has more than 500 files that are protected in its top three levels. No command can be run in it.";
    expect(text).toBe(`done\n\n[${why} Remove files with the file tools, or ask the user to.]`);
  });

  test("credentials in tool configuration folders such as .vscode cannot be read, and the folders stay read-only", async () => {
    const secrets = [
      ".devcontainer/.env",
      ".cargo/credentials.toml",
      ".claude/.credentials.json",
      ".vscode/.env",
      ".codex/auth.json",
      "app/.vscode/prod.key",
    ];
    const root = folderWith(
      Object.fromEntries([...secrets, ".vscode/settings.json"].map((path) => [path, `content of ${path}`])),
      "/var/tmp",
    );
    const runtime = await openedRuntime({ root });
    const text = await said(
      runtime,
      `cat ${secrets.join(" ")} .vscode/settings.json; echo x > .vscode/new; echo x > .vscode/settings.json; true`,
    );
    expect(text).toContain("content of .vscode/settings.json");
    for (const path of secrets) expect(text).not.toContain(`content of ${path}`);
    expect(readdirSync(join(root, ".vscode"))).toEqual([".env", "settings.json"]);
    expect(readFileSync(join(root, ".vscode/settings.json"), "utf8")).toBe("content of .vscode/settings.json");
  });

  test("credentials in build output and vendor folders cannot be read, and other files there can be changed", async () => {
    const folders = ["build", "dist/app", "target", "vendor/app"];
    const root = folderWith(
      Object.fromEntries(folders.flatMap((path) => [`${path}/.env`, `${path}/package.json`].map((file) => [file, "SECRET=1"]))),
      "/var/tmp",
    );
    const runtime = await openedRuntime({ root });
    const text = await said(
      runtime,
      `for f in ${folders.join(" ")}; do cat $f/.env; echo x > $f/package.json; done; touch build/.env.local`,
    );
    expect(text).not.toContain("SECRET");
    expect(text).toMatch(/credentials are kept: build\/\.env\.local\]$/u);
    expect(folders.map((path) => readFileSync(join(root, path, "package.json"), "utf8"))).toEqual(folders.map(() => "x\n"));
  });

  test("the target of a link with a credential file's name cannot be read if it is in the workspace", async () => {
    const root = folderWith(
      { "conf/prod.txt": "SECRET=1", "conf/open.txt": "open", "keys/a.txt": "SECRET=2", "package.json": "SECRET=3" },
      "/var/tmp",
    );
    symlinkSync("conf/prod.txt", join(root, ".env"));
    symlinkSync("keys", join(root, ".ssh"));
    symlinkSync("package.json", join(root, ".env.test"));
    symlinkSync(".", join(root, ".aws"));
    symlinkSync("nowhere", join(root, ".npmrc"));
    const options = { root, protect: [join(root, "conf/prod.txt")] };
    const command =
      "cat .env conf/prod.txt .ssh/a.txt keys/a.txt .env.test package.json conf/open.txt; echo x > package.json; mv conf moved; true";
    const text = await said(await openedRuntime(options), command);
    expect(text).toContain("\nopen");
    expect(text).not.toContain("SECRET");
    expect(readFileSync(join(root, "package.json"), "utf8")).toBe("SECRET=3");
    expect(await said(await openedRuntime({ root, allowSensitive: [".env"] }), "cat .env keys/a.txt; true")).toMatch(
      /^SECRET=1.*keys.*denied/u,
    );
  });

  test("an allowed credential file can be read, also through a link with a credential file's name", async () => {
    const root = folderWith({ ".env.development": "OPEN=1", "keys/a.txt": "OPEN=2" }, "/var/tmp");
    symlinkSync(".env.development", join(root, ".env"));
    symlinkSync("keys", join(root, ".ssh"));
    const runtime = await openedRuntime({ root, allowSensitive: [".env.development", "keys/**"] });
    expect(await said(runtime, "cat .env.development .env keys/a.txt")).toMatch(/^OPEN=1OPEN=1OPEN=2/u);
  });

  test("runProgram applies the kernel limits and returns stderr separately", async () => {
    const bubblewrap = await findBubblewrap(new AbortController().signal);
    const root = folderWith({}, "/var/tmp");
    const policy = { workspace: root, readable: [], writable: [], network: false, temporaryBytes: 1024 * 1024 };
    const end = await runProgram({
      program: "/bin/sh",
      args: ["-c", "ulimit -n; ulimit -f; echo problem >&2"],
      folder: root,
      environment: { PATH: "/usr/bin:/bin" },
      limits: { timeoutMs: 20_000, maxMemoryBytes: 2 ** 31, maxProcesses: 64, maxFileBytes: 2 ** 20, maxOutputBytes: 2 ** 20 },
      sandbox: { bubblewrap, policy, exceptions: [] },
      mergesStderr: false,
      clock: systemPorts.clock,
      signal: new AbortController().signal,
    });
    expect(end).toMatchObject({ exitCode: 0, output: "4096\n2048\n", errorOutput: "problem\n" });
  });

  test.each([
    [[".git"], []],
    [[".git", ".git/{objects,refs,logs}/**", ".git/{index,HEAD}*"], ["objects"]],
  ])("each entry of .git is checked on its own when allowSensitive is %j", async (allowSensitive, written) => {
    const root = folderWith({ ".git/config": "", ".git/hooks/sample": "", ".git/objects/a": "", "x.txt": "" }, "/var/tmp");
    const runtime = await openedRuntime({ root, allowSensitive });
    await bash(runtime, "for place in hooks objects; do echo x > .git/$place/new; done; echo x >> .git/config");
    const isThere = (place: string): boolean => existsSync(join(root, ".git", place, "new"));
    expect([["hooks", "objects"].filter(isThere), readFileSync(join(root, ".git/config"), "utf8")]).toEqual([written, ""]);
  });

  test("a protected file is protected under every path that names it", async () => {
    const root = folderWith({ "locked.toml": "as it was", "other.toml": "as it was" }, "/var/tmp");
    const link = join(folderWith({}, "/var/tmp"), basename(root));
    symlinkSync(root, link);
    const relative = join(
      ...process
        .cwd()
        .split("/")
        .slice(1)
        .map(() => ".."),
      root.slice(1),
      "other.toml",
    );
    const runtime = await openedRuntime({ root, protect: [join(link, "locked.toml"), relative] });
    await bash(runtime, "echo x > locked.toml; echo x > other.toml");
    expect(["locked.toml", "other.toml"].map((name) => readFileSync(join(root, name), "utf8"))).toEqual(["as it was", "as it was"]);
  });

  test.each([
    ["beside the workspace", "app", [".", "."]],
    ["around the workspace", "shared/app", ["."]],
    ["in which the workspace is one of several", "app", ["shared", "shared/sub"]],
  ])("a protected file below a writable folder %s cannot be changed, moved or replaced", async (_, work, write) => {
    const top = folderWith(
      { "app/x": "", "shared/app/x": "", "shared/sub/conf/haft.toml": "as it was", "shared/free.txt": "" },
      "/var/tmp",
    );
    const file = join(top, "shared/sub/conf/haft.toml");
    const root = join(top, work);
    const runtime = await openedRuntime({ root, write: write.map((folder) => join(top, folder)), protect: [file] });
    await bash(runtime, `cd ${top}/shared; echo free > free.txt; echo x > sub/conf/haft.toml; rm -f sub/conf/haft.toml; mv sub/conf away`);
    await bash(runtime, `cd ${top}/shared; mv sub other; mkdir -p sub/conf; echo x > sub/conf/haft.toml; chmod 777 sub/conf/haft.toml`);
    await bash(runtime, `cd ${top}; mv shared other; mkdir -p shared/sub/conf; echo x > shared/sub/conf/haft.toml`);
    expect([readFileSync(file, "utf8"), readFileSync(join(top, "shared/free.txt"), "utf8")]).toEqual(["as it was", "free\n"]);
  });

  test("hidden files and folders of a workspace and of a writable folder can be neither read nor changed", async () => {
    const top = folderWith(
      { "app/logins/ada.json": "token", "app/haft.db": "token", "app/free.txt": "free", "more/haft.db": "token" },
      "/var/tmp",
    );
    const root = join(top, "app");
    const paths = ["app/logins", "app/haft.db", "more/haft.db"].map((path) => join(top, path));
    const runtime = await openedRuntime({ root, write: [join(top, "more")], hide: paths, allowSensitive: ["**"] });
    const output = await bash(
      runtime,
      `cat free.txt logins/* haft.db ${top}/more/haft.db; echo x > haft.db; echo x > logins/ada.json; mv logins away`,
    );
    expect(JSON.stringify(output)).toContain("free");
    expect(JSON.stringify(output)).not.toContain("token");
    expect(["app/logins/ada.json", "app/haft.db", "more/haft.db"].map((path) => readFileSync(join(top, path), "utf8"))).toEqual([
      "token",
      "token",
      "token",
    ]);
  });

  test("protected files of a workspace inside a writable folder cannot be moved or replaced", async () => {
    const top = folderWith({ "a/app/haft.toml": "as it was", "a/app/.env": "KEY=1" }, "/var/tmp");
    const root = join(top, "a/app");
    const runtime = await openedRuntime({ root, write: [top], protect: [join(root, "haft.toml")] });
    await bash(runtime, `cd ${top}; mv a b; mkdir -p a/app; echo x > a/app/haft.toml`);
    await bash(runtime, `cd ${top}/a; mv app b; mkdir app; echo x > app/haft.toml`);
    expect(readFileSync(join(root, "haft.toml"), "utf8")).toBe("as it was");
  });

  test.skipIf(process.getuid?.() === 0).each(["311", "600"])(
    "a folder that a program makes unreadable with mode %s stays protected for later programs (skipped: root may read it)",
    async (mode) => {
      const files = { "a/.env": "KEY=1", "a/package.json": "{}", ".env": "KEY=2", "b/locked.toml": "as it was" };
      const root = folderWith(files, "/var/tmp");
      onTestFinished(() => ["", "a", "b"].forEach((folder) => chmodSync(join(root, folder), 0o700)));
      const runtime = await openedRuntime({ root, protect: [join(root, "b/locked.toml")] });
      expect(await said(runtime, `chmod ${mode} a b; echo x > .npmrc`)).toBe(
        "\n[Files were created that other programs run or take instructions from, or where credentials are kept: .npmrc]" +
          "\n[Folders were made unreadable, which later commands cannot open until the user makes them readable again: a, b]",
      );
      const text = await said(runtime, "chmod 700 a b; cat a/.env; echo x > a/package.json; mv b c; mkdir b; echo x > b/locked.toml");
      expect(text).not.toContain("KEY=");
      expect(await said(runtime, "chmod 311 .")).toBe(
        `\n[${JSON.stringify(root)} cannot be opened, so it cannot be protected. No command can be run. Ask the user to make it readable again.]`,
      );
      expect((await bash(runtime, "chmod 700 .; cat .env")).error).toMatchObject({ code: "permission_denied", outcome: "not_started" });
      ["", "a", "b"].forEach((folder) => chmodSync(join(root, folder), 0o700));
      expect(readFileSync(join(root, "a/package.json"), "utf8")).toBe("{}");
      expect(readFileSync(join(root, "b/locked.toml"), "utf8")).toBe("as it was");
    },
  );

  test.skipIf(process.getuid?.() === 0)(
    "a link with a credential file's name to an inaccessible place outside blocks no command (skipped: root may go there)",
    async () => {
      const outside = folderWith({ "secret/key": "KEY=1" }, "/var/tmp");
      onTestFinished(() => chmodSync(join(outside, "secret"), 0o700));
      chmodSync(join(outside, "secret"), 0o000);
      const root = folderWith({}, "/var/tmp");
      symlinkSync(join(outside, "secret/key"), join(root, ".env"));
      const runtime = await openedRuntime({ root });
      expect(await said(runtime, "echo here; ln -s .env .npmrc")).toMatch(/^here\n/u);
      expect(await said(runtime, "echo here; cat .env .npmrc; true")).not.toContain("KEY=");
      expect(await said(runtime, "rm .env .npmrc; echo gone")).toBe("gone\n");
    },
  );

  test.skipIf(process.getuid?.() === 0)("an unreadable file is protected as well (skipped: root may read it)", async () => {
    const root = folderWith({ ".env": "KEY=1", "package.json": "{}" }, "/var/tmp");
    for (const name of [".env", "package.json"]) chmodSync(join(root, name), 0o000);
    const runtime = await openedRuntime({ root });
    expect(await said(runtime, "chmod 600 .env package.json; cat .env; echo x > package.json")).not.toContain("KEY=");
    chmodSync(join(root, "package.json"), 0o600);
    expect(readFileSync(join(root, "package.json"), "utf8")).toBe("{}");
  });
});

test.skipIf(process.platform !== "linux")(
  "an error message of the shell in the sandbox is not taken for a failure of the sandbox",
  async () => {
    const root = folderWith({}, "/var/tmp");
    const end = async (said: string) => {
      writeFileSync(join(root, "bwrap"), `#!/bin/sh\necho '${said}' >&2\necho done\nexit 1\n`, { mode: 0o755 });
      const policy = { workspace: root, readable: [], writable: [], network: false, temporaryBytes: 1024 };
      return await runProgram({
        program: "/bin/sh",
        args: [],
        folder: root,
        environment: {},
        limits: { timeoutMs: 10_000, maxMemoryBytes: 1e9, maxProcesses: 100, maxFileBytes: 1e9, maxOutputBytes: 1e6 },
        sandbox: { bubblewrap: { path: join(root, "bwrap"), covers: [] }, policy, exceptions: [] },
        mergesStderr: true,
        clock: systemPorts.clock,
        signal: new AbortController().signal,
      });
    };
    const warning = "/bin/sh: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)";
    expect(await end(warning)).toMatchObject({ exitCode: 1, output: "done\n", errorOutput: `${warning}\n` });
    await expect(end("bwrap: No permissions to create new namespace")).rejects.toMatchObject({
      code: "unavailable",
      outcome: "not_started",
    });
  },
);

test("systemFirst puts system folders first, in their order, and keeps the others", () => {
  expect(sortSystemFirst(["/w/node_modules/.bin", "/usr/local/bin", "/opt/x/bin", "/usr/bin/", "/bin"].join(delimiter))).toBe(
    ["/usr/local/bin", "/usr/bin/", "/bin", "/w/node_modules/.bin", "/opt/x/bin"].join(delimiter),
  );
});
