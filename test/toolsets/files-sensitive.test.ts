/** Files that hold credentials are neither read nor written, files that other programs run or obey are not written, by any tool and spelling. */
import { linkSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { buildRuntimeParts } from "../../src/config/build/build-runtime-parts.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sensitivityOf } from "../../src/toolsets/files/sensitive-paths.ts";
import { TemporaryWorkspace } from "./temporary-workspace.ts";

const READS: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["read", {}],
  ["grep", { pattern: "hunter2" }],
  ["json_read", { at: "" }],
];
const WRITES: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["write", { content: "new" }],
  ["edit", { old: "hunter2", new: "open" }],
  ["multi_edit", { edits: [{ old: "hunter2", new: "open" }] }],
  ["json_write", { at: "", value: 1 }],
];

const CREDENTIALS = [
  ".env",
  ".env.local",
  ".env-production",
  ".envrc",
  "deploy/.env.staging",
  "docker/web.env",
  ".env.bak",
  ".aws/config",
  ".aws/credentials",
  ".kube/config",
  ".docker/config.json",
  ".cargo/credentials.toml",
  ".ssh/id_ed25519",
  ".ssh/config",
  "keys/id_rsa",
  "keys/id_rsa.old",
  "keys/id_rsa_github",
  "keys/.id_rsa.swp",
  "deploy/.kubeconfig.swp",
  "keys/id_ed25519-work",
  "keys/id_ed25519_sk_work.bak",
  "worker/.dev.vars",
  "deploy/kubeconfig",
  "ansible/.vault_pass",
  "serviceAccountKey.json",
  "tls/server.key",
  "tls/server.pem",
  ".netrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".git-credentials",
  ".config/gh/hosts.yml",
  ".config/gcloud/application_default_credentials.json",
  ".gnupg/pubring.kbx",
  ".bash_history",
  "etc/shadow",
];
const OBEYED = [
  "crush.json",
  ".crush.json",
  ".rules",
  ".openhands/setup.sh",
  ".pnp.cjs",
  ".direnvrc",
  "haft.toml",
  "haft.yaml",
  "haft.yml",
  "haft.json",
  "haft.lock",
  "CLAUDE.md",
  "AGENTS.md",
  "packages/api/AGENTS.md",
  "GEMINI.md",
  ".github/copilot-instructions.md",
  ".cursorrules",
  ".cursor/rules/a.mdc",
  ".claude/settings.json",
  ".claude/commands/deploy.md",
  ".vscode/tasks.json",
  ".mcp.json",
  "work.code-workspace",
  ".cargo/config.toml",
  ".tmux.conf",
  ".bashrc",
  ".zshenv",
  ".profile",
  ".gitconfig",
  ".git/config",
  ".git/hooks/post-checkout",
  "templates/hooks/pre-commit",
  ".husky/pre-push",
  ".github/workflows/ci.yml",
  ".gitlab-ci.yml",
  "Jenkinsfile",
  "package.json",
  ".yarnrc.yml",
  "mise.toml",
  ".mvn/jvm.config",
  ".config/systemd/user/a.service",
  "Library/LaunchAgents/a.plist",
  ".local/bin/ls",
  ".local/state/haft/trusted.json",
  "venv/lib/site.pth",
  ".emacs.d/init.el",
];
const ORDINARY = [
  "src/main.ts",
  "README.md",
  ".env.example",
  ".env.local.template",
  "environment.ts",
  ".environment",
  "docs/env.md",
  "config.json",
  "docker/config.json",
  "keys/id_rsa.pub",
  "keys/id_rsa_github.pub",
  "docs/id_rsa_rotation.md",
  "src/id_rsa_test.go",
  "src/trusted.json",
  "src/hooks/useState.ts",
  "src/hooks/update.ts",
  "scripts/pre-commit",
  "tests/conftest.py",
  "Makefile",
  "agents.ts",
  "docs/agents/overview.md",
  ".gitignore",
  ".editorconfig",
  "src/keyboard.keys.ts",
  "tsconfig.json",
  "pnpm-workspace.yaml",
];

/** The same name to the least strict file systems, and to a person. */
function spelled(path: string): fc.Arbitrary<string> {
  const mark = fc.constantFrom("\u200b", "\u200d", "\u00ad", "\ufeff", "\u2060");
  return fc.oneof(
    fc.constant(path),
    fc.constant(path.toUpperCase()),
    fc
      .array(fc.boolean(), { minLength: path.length, maxLength: path.length })
      .map((upper) => Array.from(path, (character, index) => (upper[index] === true ? character.toUpperCase() : character)).join("")),
    fc.record({ mark, at: fc.nat(path.length) }).map(({ mark: one, at }) => path.slice(0, at) + one + path.slice(at)),
    fc.constant(path.replaceAll(/[a-z]/gu, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0))),
    fc.constantFrom(".", " ", "...", "::$DATA").map((ending) => path + ending),
    fc.constantFrom("sub/", "a/b/c/", "src/").map((folder) => folder + path),
  );
}

describe("a sensitive path", () => {
  test.each([
    ["credentials", CREDENTIALS],
    ["obeyed", OBEYED],
    [undefined, ORDINARY],
  ])("is classified as %s in every spelling that a file system may treat as the same", (kind, paths) => {
    for (const path of paths)
      fc.assert(
        fc.property(kind === undefined ? fc.constant(path) : spelled(path), (one) => {
          expect([one, sensitivityOf(one.split("/"))]).toEqual([one, kind]);
        }),
        { numRuns: 30 },
      );
  });

  test.each(CREDENTIALS)("G04 %s cannot be read or written by any tool, not even through links", async (path) => {
    const workspace = new TemporaryWorkspace({ [path]: '{"password":"hunter2"}' });
    symlinkSync(workspace.path(path), workspace.path("innocent.txt"));
    for (const spelling of [path, "innocent.txt"]) {
      for (const [name, input] of [...READS, ...WRITES])
        expect([name, await workspace.refusal(name, { ...input, path: spelling })]).toMatchObject([name, { code: "permission_denied" }]);
    }
    expect(workspace.text(path)).toBe('{"password":"hunter2"}');
    const found = await workspace.call("grep", { pattern: "hunter2" });
    expect(found.text).not.toContain("password");
  });

  test.each(OBEYED)("G04 %s can be read but not written by any tool, not even through links", async (path) => {
    const workspace = new TemporaryWorkspace({ [path]: '{"password":"hunter2"}' });
    symlinkSync(workspace.path(path), workspace.path("innocent.txt"));
    await workspace.call("read", { path });
    for (const spelling of [path, "innocent.txt"]) {
      for (const [name, input] of WRITES)
        expect([name, await workspace.refusal(name, { ...input, path: spelling })]).toMatchObject([
          name,
          { code: "permission_denied", message: expect.stringContaining("other programs run it or take instructions from it") },
        ]);
    }
    expect(workspace.text(path)).toBe('{"password":"hunter2"}');
  });

  test.each(ORDINARY)("%s is an ordinary file", async (path) => {
    const workspace = new TemporaryWorkspace({ [path]: "hunter2" });
    await workspace.call("read", { path });
    await workspace.call("write", { path, content: "new" });
    expect(workspace.text(path)).toBe("new");
  });

  test("grep reports the files with credentials that it skipped, and allowSensitive lets them be read", async () => {
    const files = { ".env": "TOKEN=hunter2", "a.txt": "no hunter2 here" };
    const closed = new TemporaryWorkspace(files);
    expect((await closed.call("grep", { pattern: "hunter2" })).text).toBe(
      "a.txt:1: no hunter2 here\n(not searched, as credentials are kept there: 1)",
    );
    const open = new TemporaryWorkspace(files, { allowSensitive: [".env"] });
    expect((await open.call("read", { path: ".env" })).text).toContain("TOKEN=hunter2");
    await open.call("write", { path: ".env", content: "TOKEN=" });
    expect(open.text(".env")).toBe("TOKEN=");
  });

  test("a write to a hard link of a sensitive file does not change the sensitive file", async () => {
    const workspace = new TemporaryWorkspace({ ".git/hooks/pre-commit": "exit 0" });
    linkSync(workspace.path(".git/hooks/pre-commit"), workspace.path("notes.txt"));
    await workspace.call("read", { path: "notes.txt" });
    await workspace.call("write", { path: "notes.txt", content: "exit 1" });
    expect(workspace.text(".git/hooks/pre-commit")).toBe("exit 0");
  });
});

describe("a configuration", () => {
  test("G04 keeps a model from writing to its own file, its store, and the code and documents that it names", async () => {
    const text = `
store = { path = "kept/sessions.db" }
[toolsets.files]
type = "files"
root = "."
allowSensitive = ["**"]
[toolsets.own]
type = "file"
path = "tools/own.json"
`;
    const tools = '[{"name":"a","description":"A.","inputSchema":{"type":"object"}}]';
    const workspace = new TemporaryWorkspace({ "rights.toml": text, "tools/own.json": tools });
    mkdirSync(dirname(workspace.path("kept/x")));
    symlinkSync("rights.toml", workspace.path("link.txt"));
    const { toolsets, sources } = await buildRuntimeParts(await loadConfig(workspace.path("rights.toml")));
    const runtime = createRuntime({ toolsets, sources });
    const paths = ["rights.toml", "link.txt", "haft.lock", "tools/own.json", "kept/sessions.db", "kept/sessions.db-wal"];
    const results = await runtime.execute(paths.map((path) => ({ name: "files::write", input: { path, content: "x" } })));
    expect(results.map(({ error }) => error?.code)).toEqual(paths.map(() => "permission_denied"));
    const free = await runtime.execute({ name: "files::write", input: { path: "kept/notes.txt", content: "x" } });
    expect(free.status).toBe("ok");
    expect(readFileSync(workspace.path("rights.toml"), "utf8")).toBe(text);
    expect(readdirSync(workspace.path("kept"))).toEqual(["notes.txt"]);
    await runtime.close();
  });

  test("G04 keeps a model from writing to the programs that it starts, but not to their data", async () => {
    const text = `
[toolsets.files]
type = "files"
root = "."
allowSensitive = ["**"]
[toolsets.one]
type = "mcp"
enabled = false
command = "node"
args = ["--import=./hook.mjs", "servers/one.mjs", "data.json", "notes"]
cwd = "."
[engines.two]
type = "mcp"
command = "./bin/two"
args = ["two.py"]
cwd = "work"
`;
    const workspace = new TemporaryWorkspace({ "haft.toml": text, "work/a.txt": "" });
    const { toolsets } = await buildRuntimeParts(await loadConfig(workspace.path("haft.toml")));
    const runtime = createRuntime({ toolsets: toolsets.filter(({ name }) => name === "files") });
    const write = async (path: string) => (await runtime.execute({ name: "files::write", input: { path, content: "x" } })).error?.code;

    for (const path of ["hook.mjs", "servers/one.mjs", "work/bin/two", "work/two.py"])
      expect([path, await write(path)]).toEqual([path, "permission_denied"]);
    for (const path of ["data.json", "notes/a.txt", "bin/two", "two.py"]) expect([path, await write(path)]).toEqual([path, undefined]);
    await runtime.close();
  });
});
