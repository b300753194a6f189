/** The reference pages that are written by hand name exactly what the code knows. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
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

/** The keys that a table of a configuration may have, as the message about a key that it may not have lists them. */
async function knownKeys(table: string, more: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "haft-reference-"));
  const file = join(folder, "haft.toml");
  try {
    writeFileSync(file, `${table}\n"?????" = 1\n${more}`);
    await loadConfig(file);
    return [];
  } catch (error: unknown) {
    return /unknown key\. There are: (.*)\.$/mu.exec(String(error))?.[1]?.split(", ") ?? [String(error)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the page of the configuration names every key there is and no other", async () => {
  const page = tablesOf("docs/reference/configuration.md");
  const listed = (...headings: readonly string[]) => headings.flatMap((heading) => page.get(heading) ?? []).toSorted();
  const known = async (table: string, more = "") => (await knownKeys(table, more)).toSorted();
  expect({
    top: listed("Top level"),
    runtime: listed("`[runtime]`"),
    retry: listed("`[retry]`"),
    circuit: listed("`[circuit]`"),
    permission: listed("`[permission]`"),
    approval: listed("`[approval]`"),
    store: listed("`[store]`"),
    cache: listed("`[cache]`"),
    files: listed("Every toolset", '`type = "files"`'),
    mcp: listed("Every toolset", '`type = "mcp"`'),
    module: listed("Every toolset", '`type = "module"`'),
  }).toEqual({
    top: await known(""),
    runtime: await known("[runtime]"),
    retry: await known("[retry]"),
    circuit: await known("[circuit]"),
    permission: await known("[permission]"),
    approval: await known("[approval]"),
    store: await known("[store]", 'path = "a.db"'),
    cache: await known("[cache]"),
    files: await known("[toolsets.a]", 'type = "files"\nroot = "."'),
    mcp: await known("[toolsets.a]", 'type = "mcp"\ncommand = "a"'),
    module: await known("[toolsets.a]", 'type = "module"\npath = "a.ts"'),
  });
});

test("the configuration with every key has every key, and can be used", async () => {
  const path = "examples/config/every-key.toml";
  const page = [...tablesOf("docs/reference/configuration.md").values()].flat();
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const missing = page.filter((key) => key !== "enable" && !new RegExp(`(?:^|\\[)${key}\\b`, "mu").test(text));
  expect(missing).toEqual([]);
  expect((await loadConfig(path)).config.toolsets.size).toBe(3);
});

test("the page of events names every event there is and no other", () => {
  const types = [...(readTree("src/core/event.ts").get("src/core/event.ts") ?? "").matchAll(/readonly type: "([^"]+)"/gu)];
  expect([...tablesOf("docs/reference/events.md").values()].flat().toSorted()).toEqual(types.map(([, type = ""]) => type).toSorted());
});
