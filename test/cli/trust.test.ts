import { mkdirSync, readFileSync, statSync, writeFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, PROJECT, folderWith, haft } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const STARTS = `[toolsets.math]
type = "module"
path = "./math.mjs"

[toolsets.echo]
type = "mcp"
command = "node"
args = ["server.mjs", "--key=\${SECRET}"]
`;

function strangers() {
  const folder = folderWith({ "haft.toml": STARTS, "math.mjs": `globalThis.ran = true; ${PROJECT["math.mjs"]}`, "state/x": "" });
  const environment = { HAFT_TRUST: "", XDG_STATE_HOME: join(folder, "state"), SECRET: "swordfish" };
  return { folder, run: (args: readonly string[]) => haft(args, { folder, environment }) };
}

describe.concurrent("a configuration found in the current folder", { timeout: PATIENCE_MS }, () => {
  test("J08 starts nothing before it is trusted, and the error names what it would start", async () => {
    const { run } = strangers();
    const { exitCode, stdout, stderr } = await run(["list"]);
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 6,
      stdout: "",
      stderr: `haft: permission_denied: haft.toml runs programs or code, and is not trusted.
  toolsets.math imports "./math.mjs"
  toolsets.echo runs node server.mjs --key=[SECRET]
  Read it; then run haft trust, or name it: --config haft.toml.
`,
    });
  });

  test("J08 stays trusted until the file changes or the trust is revoked", async () => {
    const { folder, run } = strangers();
    expect((await run(["trust"])).stdout).toContain("haft.toml is trusted until it changes.");
    expect(await run(["list", "math"])).toMatchObject({ exitCode: 0 });
    const list = join(folder, "state/haft/trusted.json");
    expect([statSync(list).mode & 0o777, readFileSync(list, "utf8").includes("swordfish")]).toEqual([0o600, false]);
    writeFileSync(join(folder, "haft.toml"), `${STARTS}# changed\n`);
    expect(await run(["list", "math"])).toMatchObject({ exitCode: 6 });
    await run(["trust"]);
    expect((await run(["trust", "--forget", "--json"])).stdout).toContain('"trusted":false');
    expect(await run(["list", "math"])).toMatchObject({ exitCode: 6 });
  });

  test("J08 the name of its folder cannot look like another line of the answer", async () => {
    const { folder } = strangers();
    const named = join(folder, "a\nb is trusted");
    mkdirSync(named);
    writeFileSync(join(named, "haft.toml"), STARTS);
    const environment = { HAFT_TRUST: "", XDG_STATE_HOME: join(folder, "state"), SECRET: "swordfish" };
    const { stdout } = await haft(["trust"], { folder: named, environment });
    expect(stdout.split("\n").slice(2)).toEqual([
      expect.stringContaining(String.raw`a\u{a}b is trusted/haft.toml is trusted until it changes.`),
      "",
    ]);
  });

  test("J08 needs no trust if it is named with --config, or if it starts nothing", async () => {
    const { run } = strangers();
    expect(await run(["list", "math", "--config", "haft.toml"])).toMatchObject({ exitCode: 0 });
    const folder = folderWith({ "haft.toml": '[toolsets.notes]\ntype = "files"\nroot = "."\n' });
    expect(await haft(["list"], { folder, environment: { HAFT_TRUST: "" } })).toMatchObject({ exitCode: 0 });
  });

  testInCI("J08 that a tool changed to reach outside its folder is refused, and runs once it is trusted", async () => {
    const folder = folderWith({ "haft.toml": '[toolsets.files]\ntype = "files"\nroot = "."\n', "state/x": "" });
    const run = (args: readonly string[]) => haft(args, { folder, environment: { HAFT_TRUST: "", XDG_STATE_HOME: join(folder, "state") } });
    const read = ["call", "files::read", '{"path": "/etc/hostname"}'];
    expect(await run(read)).toMatchObject({ exitCode: 6, stderr: expect.not.stringContaining("trust") });
    const wide = '[toolsets.files]\ntype = "files"\nroot = "/"\nguard = "off"\nallowSensitive = ["**"]\n[approval]\nnever = ["files::*"]\n';
    writeFileSync(join(folder, "haft.toml"), wide);
    expect(await run(read)).toEqual({
      exitCode: 6,
      stdout: "",
      stderr: `haft: permission_denied: haft.toml widens what tools may do, and is not trusted.
  toolsets.files.root reaches /, outside the folder of the configuration
  toolsets.files.guard lets tools leave the root: "off"
  toolsets.files.allowSensitive lets tools change files that other programs obey, and read files of credentials: **
  approval.never runs tools without asking: files::*
  Read it; then run haft trust, or name it: --config haft.toml.
`,
    });
    await run(["trust"]);
    expect(await run(read)).toMatchObject({ exitCode: 0 });
  });

  testInCI("J08 with a store outside its folder is refused by haft sessions too, and with one inside needs no trust", async () => {
    const folder = folderWith({ "near/haft.toml": 'store = { path = "s.db" }\n', "far/haft.toml": 'store = { path = "../s.db" }\n' });
    const run = (inner: string, args: readonly string[]) =>
      haft(["sessions", ...args], {
        folder: join(folder, inner),
        environment: { HAFT_TRUST: "", XDG_STATE_HOME: join(folder, "state") },
      });

    expect(await run("near", ["list"])).toMatchObject({ exitCode: 4, stderr: expect.stringContaining("There is no store") });
    expect(await run("far", ["list"])).toMatchObject({
      exitCode: 6,
      stderr: expect.stringContaining(`store.path reaches ${realpathSync(folder)}/s.db, outside the folder of the configuration`),
    });
    expect(await run("far", ["list", "--config", "haft.toml"])).toMatchObject({ exitCode: 4 });
  });

  testInCI("J08 needs trust again after a change, even one that only removes limits", async () => {
    const folder = folderWith({
      "haft.toml": '[toolsets.files]\ntype = "files"\nroot = "."\n[permission]\ndeny = ["files::write"]\n',
      "state/x": "",
    });
    const run = (args: readonly string[]) => haft(args, { folder, environment: { HAFT_TRUST: "", XDG_STATE_HOME: join(folder, "state") } });
    expect(await run(["list"])).toMatchObject({ exitCode: 0 });
    await run(["trust"]);
    writeFileSync(join(folder, "haft.toml"), '[toolsets.files]\ntype = "files"\nroot = "."\n');
    expect(await run(["list"])).toEqual({
      exitCode: 6,
      stdout: "",
      stderr: `haft: permission_denied: haft.toml has changed since it was trusted.
  Read it; then run haft trust, or name it: --config haft.toml.
`,
    });
    expect(await run(["list", "--config", "haft.toml"])).toMatchObject({ exitCode: 0 });
  });

  testInCI("J08 needs trust for programs that its descriptors start, and again when a descriptor changes", async () => {
    const files = {
      "haft.toml": '[toolsets.d]\ntype = "descriptors"\npath = "d"\n',
      "d/code.toml": '[ensemble]\nname = "e"\nmodule = "code.mjs"\n[[invokers]]\nname = "t"\ndescription = "T"\n',
      "d/code.mjs": 'console.error("I ran"); export const t = () => 1;\n',
      "state/x": "",
    };
    const folder = folderWith(files);
    const run = (args: readonly string[]) =>
      haft(args, { folder, environment: { HAFT_TRUST: "", XDG_STATE_HOME: join(folder, "state") }, ownProcess: true });
    expect(await run(["list"])).toEqual({
      exitCode: 6,
      stdout: "",
      stderr: `haft: permission_denied: haft.toml runs programs or code, and is not trusted.
  toolsets.d: ${folder}/d/code.toml imports "code.mjs"
  Read it; then run haft trust, or name it: --config haft.toml.
`,
    });
    await run(["trust"]);
    expect(await run(["list", "e"])).toMatchObject({ exitCode: 0, stderr: "I ran\n" });
    writeFileSync(join(folder, "d/more.toml"), '[mcp.more]\ncommand = ["node", "-e", "1"]\n');
    expect(await run(["list", "e"])).toMatchObject({ exitCode: 6, stdout: "" });
  });

  test("J08 E12 sends no variable to a server before it is trusted", async () => {
    const toolset = 'type = "mcp"\nurl = "https://example.com/${SECRET}"\nheaders = { key = "env:SECRET" }\n';
    const folder = folderWith({ "haft.toml": `[toolsets.env]\n${toolset}[toolsets.off]\nenabled = false\n${toolset}` });
    expect(await haft(["list"], { folder, environment: { HAFT_TRUST: "", SECRET: "swordfish" } })).toEqual({
      exitCode: 6,
      stdout: "",
      stderr: `haft: permission_denied: haft.toml sends your data to servers, and is not trusted.
  toolsets.env.url sends the variable SECRET
  toolsets.env.headers.key sends the variable SECRET
  Read it; then run haft trust, or name it: --config haft.toml.
`,
    });
  });

  test("J08 E12 with a store outside its folder is refused with the variables it would send, including unset ones", async () => {
    const folder = folderWith({
      "haft.toml": '[store]\npath = "../elsewhere.db"\n[toolsets.env]\ntype = "mcp"\nurl = "https://example.com/${UNSET_SECRET}"\n',
    });
    const { exitCode, stderr } = await haft(["audit"], { folder, environment: { HAFT_TRUST: "" } });
    expect([exitCode, stderr]).toEqual([6, expect.stringContaining("  toolsets.env.url sends the variable UNSET_SECRET\n")]);
  });

  testInCI("J08 is not trusted by a damaged trust file, which the next haft trust repairs", async () => {
    const { folder, run } = strangers();
    await run(["trust"]);
    writeFileSync(join(folder, "state/haft/trusted.json"), '{"files": [1');
    expect(await run(["list", "math"])).toMatchObject({ exitCode: 6 });
    await run(["trust"]);
    expect(await run(["list", "math"])).toMatchObject({ exitCode: 0 });
  });

  test("J08 is not trusted by a trust file of a newer version, which is not overwritten", async () => {
    const { folder, run } = strangers();
    await run(["trust"]);
    const list = join(folder, "state/haft/trusted.json");
    const newer = readFileSync(list, "utf8").replace('"version": 1', '"version": 2');
    writeFileSync(list, newer);
    expect(await run(["list", "math"])).toMatchObject({ exitCode: 6 });
    expect(await run(["trust"])).toMatchObject({
      exitCode: 7,
      stderr: expect.stringContaining("trusted.json is of version 2; this version of Haft reads 1."),
    });
    expect(readFileSync(list, "utf8")).toBe(newer);
  });
});
