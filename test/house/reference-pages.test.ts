/** The reference pages that are written by hand name exactly what the code knows. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { ToolError } from "../../src/core/error.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { readTree } from "./source-tree.ts";

/** By heading, the first cells of the table below it. */
function tablesOf(path: string): ReadonlyMap<string, readonly string[]> {
  const sections = (readTree(path).get(path) ?? "").split(/^#+ /mu).slice(1);
  return new Map(
    sections.map((section) => {
      const [heading = ""] = section.split("\n");
      return [heading, [...section.matchAll(/^\| `([^`]+)` /gmu)].map(([, name = ""]) => name)];
    }),
  );
}

/** The lines about what is wrong with a configuration. */
async function problemsOf(text: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "haft-reference-"));
  const file = join(folder, "haft.toml");
  try {
    writeFileSync(file, text);
    await loadConfig(file);
    return [];
  } catch (error: unknown) {
    const { message, details } = ToolError.fromUnknown(error);
    return [message, ...details];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The keys that a table of a configuration may have, as the message about a key that it may not have lists them. */
async function knownKeys(table: string, more: string): Promise<readonly string[]> {
  const problems = await problemsOf(`${table}\n"?????" = 1\n${more}`);
  return /\["\?{5}"\]: unknown key\. There are: (.*)\.$/mu.exec(problems.join("\n"))?.[1]?.split(", ") ?? problems;
}

/** A table of toolsets with one of a type, and the lines that go with it. */
const toolset = (type: string, lines: string): string => `[toolsets.a]\ntype = "${type}"\n${lines}`;
const authOf = (type: string, auth: string): string =>
  `${toolset(type, 'url = "http://a"\ndocument = "a"')}\n[toolsets.a.auth]\ntype = "${auth}"`;

test("the page of the configuration names every key there is and no other", async () => {
  const page = tablesOf("docs/reference/configuration.md");
  const listed = (...headings: readonly string[]) => headings.flatMap((heading) => page.get(heading) ?? []).toSorted();
  const known = async (table: string, more = "") => (await knownKeys(table, more)).toSorted();
  const oneOf = async (tables: readonly string[]) =>
    [...new Set((await Promise.all(tables.map((table) => known(table)))).flat())].toSorted();
  const common = listed("Every toolset");
  const answersItself = common.filter((key) => key !== "engine");
  expect({
    top: listed("Top level"),
    runtime: listed("`[runtime]`"),
    retry: listed("`[retry]`"),
    circuit: listed("`[circuit]`"),
    permission: listed("`[permission]`"),
    approval: listed("`[approval]`"),
    store: listed("`[store]`"),
    cache: listed("`[cache]`"),
    model: listed("`[model]`"),
    prices: listed("`[model.prices]`"),
    loop: listed("`[loop]`"),
    budget: listed("`[loop.budget]`"),
    variables: listed("`[variables]`"),
    tools: listed("`[tools]`"),
    search: listed("`[engines]`", 'An engine of `type = "search"`'),
    file: [...common, ...listed('`type = "file"`')].toSorted(),
    inline: [...common, ...listed('`type = "inline"`')].toSorted(),
    descriptors: [...common, ...listed('`type = "descriptors"`')].toSorted(),
    started: [...common, ...listed('`type = "mcp"`', "A server that is started")].toSorted(),
    reached: [...common, ...listed('`type = "mcp"`', "A server at an address")].toSorted(),
    serverAuth: listed("`auth` of a server"),
    openapi: [...common, ...listed('`type = "openapi"`')].toSorted(),
    filter: listed("`include` and `exclude`"),
    effects: listed("A table of `effects`"),
    apiAuth: listed("`auth` of an HTTP API"),
    files: [...answersItself, ...listed('`type = "files"`')].toSorted(),
    module: [...common, ...listed('`type = "module"`')].toSorted(),
  }).toEqual({
    top: await known(""),
    runtime: await known("[runtime]"),
    retry: await known("[retry]"),
    circuit: await known("[circuit]"),
    permission: await known("[permission]"),
    approval: await known("[approval]"),
    store: await known("[store]", 'path = "a.db"'),
    cache: await known("[cache]"),
    model: await known("[model]", 'name = "a/b"'),
    prices: await known('[model]\nname = "a/b"\n[model.prices]', "inputPerMillion = 1\noutputPerMillion = 1"),
    loop: await known("[loop]"),
    budget: await known("[loop.budget]"),
    variables: await known("[variables]"),
    tools: await known("[tools]"),
    search: await known("[engines.a]", 'type = "search"\ndocuments = "a"'),
    file: await known(toolset("file", 'path = "a.yaml"')),
    inline: await known(toolset("inline", "tools = []")),
    descriptors: await known(toolset("descriptors", 'path = "a"')),
    started: await known(toolset("mcp", 'command = "a"')),
    reached: await known(toolset("mcp", 'url = "http://a"')),
    serverAuth: await oneOf(["bearer", "basic", "client-credentials", "private-key-jwt"].map((auth) => authOf("mcp", auth))),
    openapi: await known(toolset("openapi", 'document = "a"')),
    filter: await known(`${toolset("openapi", 'document = "a"')}\n[toolsets.a.include]`),
    effects: await known(`${toolset("openapi", 'document = "a"')}\n[toolsets.a.effects.b]`),
    apiAuth: await oneOf(["bearer", "basic", "apiKey", "oauth2"].map((auth) => authOf("openapi", auth))),
    files: await known(toolset("files", 'root = "."')),
    module: await known(toolset("module", 'path = "a.ts"')),
  });
});

test("every word of other systems that the page names is known, and is none of ours", async () => {
  const words = tablesOf("docs/reference/configuration.md").get("Other words") ?? [];
  const entries = [
    'type = "rest"\nspec = "a"\nbase_url = "http://a"\nbearer_token = "a"\ntimeout = 1',
    'type = "rest"\nspec = "a"\noperation_ids = []\nbasic_auth = ["a", "b"]\nverify = true',
    'type = "mcp"\nurl = "http://a"\napi_key = { name = "a", value = "b" }',
    'type = "mcp"\ncommand = ["a", "b"]\nenvironment = {}',
  ];
  const unknown: string[] = [];
  for (const entry of entries) {
    expect(await problemsOf(`[[tools.registry]]\n${entry}`)).toEqual([]);
    const problems = await problemsOf(`[toolsets.a]\n${entry.replace('"rest"', '"openapi"')}`);
    unknown.push(...problems.flatMap((problem) => /toolsets\.a\.(\w+): unknown key/u.exec(problem)?.[1] ?? []));
  }
  expect([...new Set(unknown)].toSorted()).toEqual(words.toSorted());
});

test("the configuration with every key has every key, and can be used", async () => {
  const path = "examples/config/every-key.toml";
  const page = [...tablesOf("docs/reference/configuration.md").values()].flat();
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const missing = page.filter((key) => !new RegExp(`(?:^|[[{.,] ?)${key}(?: =|[\\].])`, "mu").test(text));
  expect(missing).toEqual([]);
  expect((await loadConfig(path)).config.toolsets.size).toBe(10);
});

test.each(["every-key.toml", "tool-files.toml", "other-words.yaml"])(
  "everything that is enabled in examples/config/%s opens",
  async (name) => {
    const { store: _store, ...options } = await configuredRuntime(`examples/config/${name}`);
    const runtime = createRuntime(options);
    try {
      expect((await runtime.open()).failed).toEqual([]);
    } finally {
      await runtime.close();
    }
  },
);

test("the page of events names every event there is and no other", () => {
  const types = [...(readTree("src/core/event.ts").get("src/core/event.ts") ?? "").matchAll(/readonly type: "([^"]+)"/gu)];
  expect([...tablesOf("docs/reference/events.md").values()].flat().toSorted()).toEqual(types.map(([, type = ""]) => type).toSorted());
});
