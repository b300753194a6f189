/** Large registries: the tool files of seed 000 and a hundred thousand made-up tools. Figures are printed, not judged. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { parse } from "yaml";
import type { Tool } from "../../src/core/tool.ts";
import { Registry } from "../../src/registry/registry.ts";
import { modelTools } from "../../src/compose/prompt/model-tools.ts";
import { toolFromJson } from "../../src/registry/tool-definition.ts";

const CASES = process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../shared/cases");
const FOLDER = join(CASES, "fms-dgt");

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function timed<T>(work: () => T): readonly [value: T, ms: number] {
  const startedAt = performance.now();
  const value = work();
  return [value, performance.now() - startedAt];
}

function percentile(times: readonly number[], part: number): number {
  return [...times].sort((one, other) => one - other)[Math.floor(times.length * part)] ?? 0;
}

test.skipIf(!existsSync(FOLDER) || !inCI)(
  `F0.6 L22 the original published tools all register, compile and are searchable ${IN_CI} (skipped without the case folder)`,
  { timeout: 240_000 },
  () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith("-query_tools.yaml"));
    const raw = files.map((file) => ({
      name: file.replace("-query_tools.yaml", ""),
      tools: Object.values<unknown>(parse(readFileSync(join(FOLDER, file), "utf8"))),
    }));
    const [registry, loadMs] = timed(() => {
      const made = new Registry();
      for (const { name, tools } of raw) {
        made.addToolset({ name, overloads: true });
        for (const json of tools) made.register(toolFromJson(json, name).tool, name);
      }
      return made;
    });
    const count = raw.reduce((sum, { tools }) => sum + tools.length, 0);
    const [quarantined, checkMs] = timed(() => registry.check());
    const [, indexMs] = timed(() => registry.search({ text: "warm up" }));
    const times = [...registry]
      .filter((_, at) => at % 20 === 0)
      .map(({ tool }) => timed(() => registry.search({ text: tool.description, limit: 10 }))[1]);
    console.log(
      `${count} tools of ${files.length} files: registered in ${loadMs.toFixed(0)} ms, compiled in ${checkMs.toFixed(0)} ms, indexed in ${indexMs.toFixed(0)} ms; search p50 ${percentile(times, 0.5).toFixed(2)} ms, p99 ${percentile(times, 0.99).toFixed(2)} ms`,
    );
    expect([registry.size, quarantined.length]).toEqual([count, 0]);
    expect(registry.search({ text: "current stock price of a symbol", limit: 20 }).some(({ tool }) => tool.name.includes("stock"))).toBe(
      true,
    );
  },
);

test(
  "many tools (100,000 in CI) are registered, found, listed, searched and corrected within limits of time and memory",
  { timeout: 240_000 },
  () => {
    const count = inCI ? 100_000 : 5_000;
    const verbs = ["get", "list", "create", "update", "delete", "send"];
    const nouns = ["order", "customer", "invoice", "ticket", "message"];
    const tools: readonly Tool[] = Array.from({ length: count }, (_, at) => ({
      name: `${verbs[at % 6]}_${nouns[at % 5]}_${at}`,
      description: `Works on account ${at}.`,
      inputSchema: { type: "object" },
    }));
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const registry = new Registry();
    const [, loadMs] = timed(() => registry.addToolset({ name: "big" }, tools));
    collectGarbage();
    const bytes = (process.memoryUsage().heapUsed - before) / count;
    const [definitions, firstMs] = timed(() => modelTools(registry));
    const [again, laterMs] = timed(() => modelTools(registry));
    const names = tools.map(({ name }) => `big::${name}`);
    const [, lookUpMs] = timed(() => {
      for (const name of names) registry.resolve(name);
    });
    const [, indexMs] = timed(() => registry.search({ text: "warm up" }));
    const searches = Array.from(
      { length: 200 },
      (_, at) => timed(() => registry.search({ text: `${verbs[at % 6]} an ${nouns[at % 5]} account ${at}`, limit: 10 }))[1],
    );
    const misses = Array.from({ length: 20 }, (_, at) => timed(() => registry.resolve(`get_ordr_${at * 30}`))[1]);
    console.log(
      `${count} tools: loaded in ${loadMs.toFixed(0)} ms, ${bytes.toFixed(0)} bytes each; definitions ${firstMs.toFixed(0)} ms, then ${laterMs.toFixed(3)} ms; ` +
        `look-up ${((lookUpMs / count) * 1_000).toFixed(2)} µs; index ${indexMs.toFixed(0)} ms, search p99 ${percentile(searches, 0.99).toFixed(1)} ms; near names p50 ${percentile(misses, 0.5).toFixed(1)} ms`,
    );
    expect([registry.size, definitions.length, again === definitions]).toEqual([count, count, true]);
    expect(registry.resolve("get_ordr_30")).toMatchObject({ code: "not_found", message: expect.stringMatching(/"\w+::get_order_30"/u) });
    expect(bytes).toBeLessThan(1_000);
  },
);
