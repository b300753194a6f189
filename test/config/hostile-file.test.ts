import { spawnSync } from "node:child_process";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { parse } from "smol-toml";
import { loadConfig } from "../../src/config/load-config.ts";
import { buildRuntimeParts } from "../../src/config/build/build-runtime-parts.ts";
import { configError, configFolder, load, problemsOf } from "./config-folder.ts";

describe("files", () => {
  test.each([
    ["no file", "none.toml", "there is no such file.", undefined],
    ["a folder", "folder.toml", "it is a folder.", "Name the file itself, such as haft.toml."],
    ["a path through a file", "haft.toml/x.toml", "there is no such file.", undefined],
    ["another ending", "haft.ini", "its name must end in .toml, .yaml, .yml or .json.", undefined],
  ])("J06 %s is an error that says why", async (_what, name, reason, hint) => {
    const path = join(configFolder({ "haft.toml": "", "haft.ini": "", "folder.toml/haft.toml": "" }), name);

    const error = await configError(loadConfig(path));

    expect({ message: error.message, hint: error.hint }).toEqual({ message: `Cannot read the configuration ${path}: ${reason}`, hint });
  });

  test.skipIf(!existsSync("/dev/zero"))(
    "J06 an endless device as the certificate authorities of a server is refused without being read",
    async () => {
      const loaded = await load("haft.toml", '[toolsets.x]\ntype = "mcp"\nurl = "https://example.com"\nca = "/dev/zero"\n');
      const error = await configError(buildRuntimeParts(loaded));

      expect(error.message).toMatch(
        /haft\.toml:4:1: toolsets\.x\.ca: ca must be a PEM file of at most 4194304 bytes, and \/dev\/zero is not one\.$/u,
      );
    },
  );

  test.skipIf(!existsSync("/dev/zero"))("J06 an endless device is refused without being read", async () => {
    const path = join(configFolder(), "haft.toml");
    symlinkSync("/dev/zero", path);

    expect((await configError(loadConfig(path))).message).toBe(
      `Cannot read the configuration ${path}: it is not a regular file but a pipe, socket or device.`,
    );
  });

  test.skipIf(spawnSync("mkfifo", ["--version"]).error !== undefined)(
    "J06 a pipe (needs mkfifo) is refused without waiting for its writer",
    async () => {
      const path = join(configFolder(), "haft.toml");
      spawnSync("mkfifo", [path]);

      expect((await configError(loadConfig(path))).message).toBe(
        `Cannot read the configuration ${path}: it is not a regular file but a pipe, socket or device.`,
      );
    },
  );

  test.each([
    ["UTF-16 with a mark", Buffer.from("\uFEFFa = 1", "utf16le"), "it is in UTF-16."],
    ["UTF-16 without a mark", Buffer.from("a = 1", "utf16le"), "it contains NUL characters, as a file in UTF-16 does."],
    ["bytes that are no text", Buffer.from([0x61, 0xff]), "it is not valid UTF-8."],
    ["more than a mebibyte", `# ${"x".repeat(1024 * 1024)}`, "it is larger than 1048576 bytes."],
  ])("J06 %s is refused", async (_what, text, reason) => {
    expect(await problemsOf("haft.toml", text)).toEqual([`Cannot read the configuration haft.toml: ${reason}`]);
  });

  test("J06 a byte order mark and CRLF change nothing, including reported places", async () => {
    expect(await problemsOf("haft.toml", "\uFEFF[runtime]\r\nfoo = 1\r\n")).toEqual([
      "haft.toml:2:1: runtime.foo: unknown key. Known keys: timeoutMs, deadlineMs, maxAttempts, maxResultBytes, promoteAfterMs, maxConcurrent, strict, orphanHoldMs, durability, keepEvents, agentName, workingFolder, artifacts.",
    ]);
  });
});

describe("YAML", () => {
  test("J01 an alias bomb is refused before it is expanded", async () => {
    const levels = "bcdefghi".split("").map((name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[index]}`).join(", ")}]`);

    expect(await problemsOf("haft.yaml", `a: &a [lol]\n${levels.join("\n")}\n`)).toEqual([
      expect.stringMatching(/^haft\.yaml:3:\d+: more than 100 aliases\.$/u),
    ]);
  });

  test("J01 an alias of itself is refused at the depth limit", async () => {
    expect(await problemsOf("haft.yaml", "a: &a [*a]\n")).toEqual(["haft.yaml:1:8: nested deeper than 32 levels."]);
  });

  test("anchors and aliases are resolved", async () => {
    const { config } = await load("haft.yaml", "permission: { allow: &all ['*'] }\napproval: { never: *all }\n");

    expect(config.approval).toEqual({ never: ["*"] });
  });

  test("J02 a merge key is refused, and __proto__ is a key like any other", async () => {
    expect(await problemsOf("haft.yaml", "runtime:\n  <<: { __proto__: { polluted: 1 } }\n")).toEqual([
      "haft.yaml:2:3: merge keys (<<) are not supported; write the keys out.",
    ]);
    expect(await problemsOf("haft.yaml", "permission:\n  __proto__: { polluted: 1 }\n")).toEqual([
      "haft.yaml:2:3: permission.__proto__: unknown key. Known keys: allow, deny.",
    ]);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test.each(["1e3", "012", "0x1f", "~", "null", "true", "1.5", ".inf"])(
    "J03 the name %s is not a string in YAML, and must be quoted",
    async (name) => {
      expect(await problemsOf("haft.yaml", `toolsets:\n  ${name}: { type: files, root: . }\n`)).toEqual([
        `haft.yaml:2:3: the key ${name} is not a string in YAML; write it in quotes: "${name}".`,
      ]);
    },
  );

  test.each(["no", "on", "off", "yes", "2024-01-01"])("J03 the name %s is a string, as in YAML 1.2", async (name) => {
    const { config } = await load("haft.yaml", `toolsets:\n  ${name}: { type: files, root: . }\n`);

    expect([...config.toolsets.keys()]).toEqual([name]);
  });

  test.each([
    ["a value meant as a boolean", "runtime:\n  strict: yes\n", "2:3: runtime.strict: must be a boolean, not a string."],
    ["a key given twice", "runtime: {}\nruntime: {}\n", '2:1: the key "runtime" appears twice.'],
    ["YAML 1.1", "%YAML 1.1\n---\nruntime: {}\n", "1:1: YAML 1.1 is not supported; remove the %YAML line."],
    ["a tag", "runtime: !!js/function x\n", "1:10: not valid YAML: Unresolved tag: tag:yaml.org,2002:js/function."],
    ["a list as key", "? [a]\n: 1\n", "1:3: a key must be plain text."],
    ["an alias without anchor", "runtime: *none\n", "1:10: no anchor &none is defined before this alias."],
    ["two documents", "runtime: {}\n---\nruntime: {}\n", "2:1: only one YAML document is supported; remove the ---."],
  ])("J03 %s is refused with its place", async (_what, text, problem) => {
    expect(await problemsOf("haft.yaml", text)).toEqual([`haft.yaml:${problem}`]);
  });

  test.each(inCI ? ["&a ", "[]", "a: b: c\n", "%a\n", '"'] : ["[]"])("J04 a mebibyte of %j is refused quickly", async (piece) => {
    const [problem] = await problemsOf("haft.yaml", piece.repeat(1_000_000 / piece.length));

    expect(problem).toBe("haft.yaml:1:1: more than 50000 YAML tokens.");
  });

  test.each([
    ["[", 33],
    ["{", 33],
    ["- ", 65],
    ["? ", 65],
  ])("J04 a mebibyte of %j is refused at the depth limit", async (piece, column) => {
    const [problem] = await problemsOf("haft.yaml", piece.repeat(1_000_000 / piece.length));

    expect(problem).toBe(`haft.yaml:1:${column}: nested deeper than 32 levels.`);
  });

  test.each([
    ["objects", (indent: string) => `${indent}a:\n`],
    ["arrays", (indent: string) => `${indent}-\n`],
    ["objects in arrays", (indent: string) => `${indent}- a:\n${indent}\n`],
  ])("J04 %s nested by ever deeper indentation are refused at the depth limit", async (_what, line) => {
    const text = Array.from({ length: 900 }, (_, depth) => line(" ".repeat(depth))).join("");

    expect(await problemsOf("haft.yaml", text)).toEqual([
      expect.stringMatching(/^haft\.yaml:\d{2}:\d{2}: nested deeper than 32 levels\.$/u),
    ]);
  });

  test("lines of a block scalar, of a flow array and of comments may have ever deeper indentation", async () => {
    const stairs = (text: string): string => Array.from({ length: 36 }, (_, depth) => `${" ".repeat(depth + 8)}${text}\n`).join("");
    const yaml = `permission:\n  allow: [\n${stairs("'*::a',")}    ]\n  deny:\n    - |\n${stairs("b::b")}    - "*::c"\n${stairs("# e")}`;
    const { config } = await load("haft.yaml", yaml);

    expect([config.permission.allow?.length, config.permission.deny?.length]).toEqual([36, 2]);
  });
});

describe("TOML", () => {
  test.skipIf(!inCI).each([
    ["deep inline tables", `a = ${"{a = ".repeat(200_000)}`],
    ["deep lists", `a = ${"[".repeat(900_000)}`],
    ["a key of many parts", `a${".a".repeat(400_000)} = 1`],
    ["many keys", Array.from({ length: 60_000 }, (_, index) => `k${index} = 1`).join("\n")],
    ["a long list", `a = [${"1,".repeat(400_000)}]`],
  ])(`J04 %s are refused quickly ${IN_CI}`, async (_what, text) => {
    expect((await problemsOf("haft.toml", text))[0]).toMatch(/^haft\.toml:1:\d+: /u);
  });

  test.each([
    ["a key", `a${".a".repeat(32)} = 1`, "1:1"],
    ["a table", `b = 1\n[a${" . 'a'".repeat(32)}]`, "2:2"],
    ["a key in a table", `b = { a${'."a"'.repeat(32)} = 1 }`, "1:7"],
  ])("J04 %s of more than 32 parts is refused at its place", async (_what, text, place) => {
    expect(await problemsOf("haft.toml", text)).toEqual([`haft.toml:${place}: not valid TOML: a key has more than 32 parts.`]);
  });

  const many = inCI ? 10_000 : 2_000;
  test(`J04 ${many} entries with undefined engines beside ${many} engines are refused quickly`, async () => {
    const engines = Array.from({ length: many }, (_, index) => `[engines.e${index}]\ntype = "local"\n`);
    const entries = Array.from({ length: many }, (_, index) => `[[tools]]\ntype = "file"\npath = "a.yaml"\nengine = "x${index}"\n`);
    const [problem] = await problemsOf("haft.toml", [...engines, ...entries].join(""));

    const named = Array.from({ length: 20 }, (_, index) => `e${index}`).join(", ");
    expect(problem).toBe(
      `haft.toml:${2 * many + 4}:1: tools[0].engine: no engine "x0" is defined; known engines: ${named}, …. Did you mean "e0"?`,
    );
  });

  test("J04 a mebibyte of comments is an empty configuration", async () => {
    const { config } = await load("haft.toml", "# x\n".repeat(262_144));

    expect(config.toolsets.size).toBe(0);
  });

  test("places are right after strings that look like tables, quoted names, dotted keys and inline tables", async () => {
    const text = `[toolsets . "my \\u0066iles"] # [x]
type = 'files'
root = '''
[toolsets.fake]
rooot = 1''''
description = """a \\""" " # no comment"""""
bad1 = 1
[toolsets]
y = { type = "mcp", command = "]", args = [ # [
  "a", 'b]', # ,
  1 ], bad2 = {} }
z.type = "mcp"
z . "command" = "x" ; 
`.replace(" ; ", "");
    parse(text); // it is TOML

    expect(await problemsOf("haft.toml", text)).toEqual([
      expect.stringMatching(/^haft\.toml:7:1: toolsets\["my files"\]\.bad1: unknown key\./u),
      "haft.toml:11:3: toolsets.y.args[2]: must be a string, not a number.",
      expect.stringMatching(/^haft\.toml:11:8: toolsets\.y\.bad2: unknown key\./u),
    ]);
  });
});
