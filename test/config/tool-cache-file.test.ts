import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { toolCacheFiles, toolCacheFolder } from "../../src/config/tools/tool-cache-file.ts";
import { definitionFingerprint } from "../../src/schema/definition-fingerprint.ts";
import { configError, configFolder } from "./config-folder.ts";

const TOOL: Tool = {
  name: "read",
  title: "",
  description: "Reads \u202ea file. \ud800",
  inputSchema: { type: "object", properties: { constructor: { type: "string" } } },
  outputSchema: {},
  effects: { writes: [], idempotent: true },
  tags: [],
  metadata: { annotations: { readOnlyHint: true }, server: { name: "fs", version: "1" } },
};
const KEY = '{"command":"srv","env":{"TOKEN":"hunter2"}}';

/** The one file of a list in a folder. */
function listFile(folder: string): string {
  return join(folder, readdirSync(folder).find((name) => name.endsWith(".json")) ?? "none");
}

async function written(tools: readonly Tool[] = [TOOL]): Promise<string> {
  const folder = join(configFolder(), "haft/tools");
  await toolCacheFiles(folder).write(KEY, tools);
  return folder;
}

test("F4.9 cached tools round-trip with the same fingerprint", async () => {
  const folder = await written();
  const tools = await toolCacheFiles(folder).read(KEY);
  expect([tools, tools?.map(definitionFingerprint)]).toEqual([[TOOL], [definitionFingerprint(TOOL)]]);
});

test("D20 another key finds nothing; file names and contents do not reveal the key, and differ between folders", async () => {
  const [folder, other] = [await written(), await written()];
  const names = readdirSync(folder);
  const texts = names.map((name) => readFileSync(join(folder, name), "utf8")).join("");
  expect({
    otherKey: await toolCacheFiles(folder).read(KEY.replace("hunter2", "hunter3")),
    secret: `${names.join()}${texts}`.includes("hunter2"),
    names: names.toSorted(),
    same: readdirSync(other).some((name) => name.endsWith(".json") && names.includes(name)),
  }).toEqual({ otherKey: undefined, secret: false, names: [expect.stringMatching(/^[0-9a-f]{64}\.json$/u), "salt"], same: false });
});

test("D20 cached files are readable only by the user", async () => {
  const folder = await written();
  const mode = (path: string): number => statSync(path).mode & 0o777;
  expect([mode(folder), mode(listFile(folder)), mode(join(folder, "salt"))]).toEqual([0o700, 0o600, 0o600]);
});

test("F4.9 an empty cache has no tools, and reading creates no files", async () => {
  const folder = configFolder();
  expect([await toolCacheFiles(join(folder, "haft/tools")).read(KEY), readdirSync(folder)]).toEqual([undefined, []]);
});

describe("tools that would not round-trip are not cached", () => {
  const tools: readonly (readonly [what: string, tool: Tool])[] = [
    ["a handler", { ...TOOL, execute: () => 1 }],
    ["computed effects", { ...TOOL, effects: { reads: () => [] } }],
    ["a schema that is not JSON", { ...TOOL, inputSchema: { maximum: 1n } }],
    ["a key that reaches a prototype", { ...TOOL, inputSchema: JSON.parse('{"__proto__":1}') }],
  ];
  test.each(tools)("F4.9 %s", async (_what, tool) => {
    const folder = configFolder();
    await toolCacheFiles(folder).write(KEY, [TOOL, tool]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("a cache file is refused", () => {
  const texts: readonly (readonly [what: string, text: string])[] = [
    ["that is cut", '{"format":"haft-tools","version":1,"tools":[{"name":"re'],
    ["of another format", '{"format":"haft-lock","version":1,"tools":[]}'],
    ["of a newer version", '{"format":"haft-tools","version":2,"tools":[]}'],
    ["without a list", '{"format":"haft-tools","version":1,"tools":{}}'],
    ["with a tool that is none", '{"format":"haft-tools","version":1,"tools":[null]}'],
    ["with a tool without a name", '{"format":"haft-tools","version":1,"tools":[{"description":"","inputSchema":{}}]}'],
    ["with a field of no tool", '{"format":"haft-tools","version":1,"tools":[{"name":"a","description":"","inputSchema":{},"x":1}]}'],
    [
      "with effects of a wrong type",
      '{"format":"haft-tools","version":1,"tools":[{"name":"a","description":"","inputSchema":{},"effects":{"destructive":"no"}}]}',
    ],
    ["nested too deeply", `{"format":"haft-tools","version":1,"tools":[${"[".repeat(1_000)}${"]".repeat(1_000)}]}`],
  ];
  test.each(texts)("J06 D20 %s", async (_what, text) => {
    const folder = await written();
    const path = listFile(folder);
    writeFileSync(path, text);
    const { message, hint } = await configError(toolCacheFiles(folder).read(KEY));
    expect([message.startsWith(`The remembered tools in ${path} are damaged: `), hint]).toEqual([true, "Remove it; it is written again."]);
  });

  test("D20 that others can write", async () => {
    const folder = await written();
    chmodSync(listFile(folder), 0o666);
    expect((await configError(toolCacheFiles(folder).read(KEY))).message).toBe(
      `${listFile(folder)} is not a file that only this user can write.`,
    );
  });

  test("D20 that is a link or a folder", async () => {
    const link = await written();
    const place = listFile(link);
    const folder = configFolder();
    mkdirSync(join(folder, "tools"));
    writeFileSync(join(folder, "tools/salt"), readFileSync(join(link, "salt"), "utf8"), { mode: 0o600 });
    symlinkSync(place, join(folder, "tools", place.slice(link.length + 1)));
    expect((await configError(toolCacheFiles(join(folder, "tools")).read(KEY))).message).toContain(
      "is not a file that only this user can write",
    );
  });

  test("D20 with an empty salt", async () => {
    const folder = await written();
    writeFileSync(join(folder, "salt"), "");
    expect((await configError(toolCacheFiles(folder).read(KEY))).message).toBe(`${join(folder, "salt")} is empty.`);
  });
});

test("F4.9 the folder is the system's cache folder, and a relative XDG_CACHE_HOME is ignored", () => {
  expect([
    toolCacheFolder({ XDG_CACHE_HOME: "/var/cache/me" }),
    toolCacheFolder({ XDG_CACHE_HOME: "cache" }).endsWith("/.cache/haft/tools"),
    toolCacheFolder({}).endsWith("/.cache/haft/tools"),
  ]).toEqual(["/var/cache/me/haft/tools", true, true]);
});
