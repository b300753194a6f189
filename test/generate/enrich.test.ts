import { describe, expect, test } from "vitest";
import type { ToolSource } from "../../src/core/source.ts";
import { enrich } from "../../src/generate/enrich.ts";
import { enrichedSource } from "../../src/generate/enriched-source.ts";
import type { Enrichment, EnrichmentContext } from "../../src/generate/enrichment.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { TEXT, tool, toolset } from "./tools.ts";

/** Writes down when it ran and what it saw. */
function noting(key: string, ran: string[], needs: Partial<Enrichment> = {}): Enrichment {
  return {
    key,
    ...needs,
    enrich: ({ artifacts }) => {
      ran.push(`${key} after ${artifacts.keys().join(",")}`);
      return { artifact: key };
    },
  };
}

const WEATHER = toolset("weather", tool("get", { city: TEXT }));

describe("order", () => {
  test("F0.21 enrichments run once, each after those it needs, whatever the order of the list", async () => {
    const ran: string[] = [];
    const list = [noting("c", ran, { dependsOn: ["b"] }), noting("b", ran, { dependsOn: ["a"] }), noting("a", ran), noting("d", ran)];

    await enrich([WEATHER], list);

    expect(ran).toEqual(["a after ", "b after a", "c after a,b", "d after a,b,c"]);
  });

  test("F0.21 an enrichment named in after runs before, and may be missing", async () => {
    const ran: string[] = [];

    await enrich([WEATHER], [noting("late", ran, { after: ["early", "absent"] }), noting("early", ran)]);

    expect(ran).toEqual(["early after ", "late after early"]);
  });

  test.each([
    [
      "a missing dependency",
      [noting("a", [], { dependsOn: ["b"] })],
      "invalid_argument",
      'The enrichment "a" needs "b", which is not among them.',
    ],
    [
      "a circle",
      [noting("a", [], { dependsOn: ["b"] }), noting("b", [], { after: ["c"] }), noting("c", [], { dependsOn: ["b"] })],
      "invalid_argument",
      "Enrichments need each other in a circle: b → c → b.",
    ],
    [
      "two of one key",
      [noting("a", []), noting("a", [])],
      "duplicate",
      'Two enrichments make the artifact "a". Leave one out, or give it another key.',
    ],
    [
      "one without a key",
      [{ ...noting("a", []), key: "" }],
      "invalid_argument",
      "An enrichment is an object with a key that is not empty, and enrich().",
    ],
  ])("F0.21 %s is rejected at once, also by a source", (_what, enrichments, code, message) => {
    const source: ToolSource = { name: "file", load: () => Promise.resolve([]) };

    expect(() => enrich([WEATHER], enrichments)).toThrow(expect.objectContaining({ code, message }));
    expect(() => enrichedSource(source, enrichments)).toThrow(expect.objectContaining({ code, message }));
  });
});

describe("results", () => {
  test("F0.12 an artifact of one enrichment can be read by the next, and by the program", async () => {
    const counting: Enrichment = { key: "count", enrich: ({ tools }) => ({ artifact: tools.length }) };
    const doubling: Enrichment = {
      key: "double",
      dependsOn: ["count"],
      enrich: ({ artifacts }) => ({ artifact: Number(artifacts.get("count")) * 2 }),
    };

    const { artifacts } = await enrich([WEATHER, toolset("mail", tool("send"), tool("read"))], [doubling, counting]);

    expect([artifacts.get("count"), artifacts.get("double"), artifacts.get("other")]).toEqual([3, 6, undefined]);
  });

  test("F0.12 requiring an artifact of the wrong type or an unknown key throws, and lists the artifacts", async () => {
    const { artifacts } = await enrich([], [{ key: "when", enrich: () => ({ artifact: "now" }) }]);

    expect(() => artifacts.require("when", Date)).toThrow('The artifact "when" is not of the type Date, so another enrichment made it.');
    expect(() => artifacts.require("where", Date)).toThrow(
      expect.objectContaining({ code: "not_found", hint: "Run the enrichment that makes it. Known artifacts: when." }),
    );
  });

  test("F0.21 a changed tool is a new object: the given tools are not changed", async () => {
    const given = Object.freeze(tool("get", { city: TEXT }));
    const describing: Enrichment = {
      key: "describe",
      enrich: ({ tools }) => ({ tools: new Map(tools.map(({ id, tool }) => [id, { ...tool, description: "Says the weather." }])) }),
    };

    const enriched = await enrich([{ ...toolset("weather", given), description: "of today" }], [describing]);

    expect(given.description).toBe("");
    expect(enriched.toolsets).toEqual([
      { name: "weather", description: "of today", tools: [{ ...given, description: "Says the weather." }] },
    ]);
  });

  test("F0.21 an enrichment must not rename a tool", async () => {
    const renaming: Enrichment = { key: "rename", enrich: () => ({ tools: new Map([["weather::get", tool("fetch")]]) }) };

    await expect(enrich([WEATHER], [renaming])).rejects.toThrow('The enrichment "rename" renamed "weather::get" to "fetch".');
  });

  test("F0.12 F0.21 the tools of a registry are enriched without the runtime's own, and a second run after a change has no old data", async () => {
    const runtime = createRuntime({ toolsets: [WEATHER] });
    const naming: Enrichment = { key: "names", enrich: ({ tools }) => ({ artifact: tools.map(({ id }) => id) }) };

    const before = await enrich(runtime.registry, [naming]);
    runtime.registry.removeToolset("weather");
    runtime.registry.register(tool("send"), "mail");
    const after = await enrich(runtime.registry, [naming]);

    expect([before.artifacts.get("names"), after.artifacts.get("names")]).toEqual([["weather::get"], ["mail::send"]]);
    await runtime.close();
  });

  test("overloads, and tools of the same name in several toolsets, each have their own id", async () => {
    const both = { ...toolset("a", tool("get", { city: TEXT }), tool("get", { place: TEXT })), overloads: true };

    const { tools } = await enrich([both, toolset("b", tool("get"))], []);

    expect(tools.map(({ id, qualifiedName }) => [id.replace(/#[0-9a-f]{8}$/u, "#hash"), qualifiedName])).toEqual([
      ["a::get", "a::get"],
      ["a::get#hash", "a::get"],
      ["b::get", "b::get"],
    ]);
  });
});

describe("failures", () => {
  test("F0.21 an enrichment that throws is named in the error", async () => {
    const failing: Enrichment = { key: "broken", enrich: () => Promise.reject(new Error("no model")) };

    await expect(enrich([WEATHER], [failing])).rejects.toThrow(
      expect.objectContaining({ code: "execution_failed", message: 'The enrichment "broken" failed: no model' }),
    );
  });

  test("F0.21 no further enrichment starts once the signal has aborted", async () => {
    const controller = new AbortController();
    const ran: string[] = [];
    const aborting: Enrichment = {
      key: "first",
      enrich: () => {
        controller.abort();
        return {};
      },
    };

    await expect(enrich([WEATHER], [aborting, noting("second", ran)], { signal: controller.signal })).rejects.toThrow(
      expect.objectContaining({ code: "cancelled" }),
    );
    expect(ran).toEqual([]);
  });

  test("F0.21 progress is reported, and a listener that throws has no effect", async () => {
    const told: unknown[] = [];
    const working: Enrichment = {
      key: "work",
      enrich({ progress }: EnrichmentContext) {
        progress(1, 2);
        progress(2, 2);
        return {};
      },
    };

    await enrich([], [working], {
      onProgress(progress) {
        told.push(progress);
        throw new Error("deaf");
      },
    });

    expect(told).toEqual([
      { enrichment: "work", done: 1, total: 2 },
      { enrichment: "work", done: 2, total: 2 },
    ]);
  });
});

test("F0.11 F0.21 a source is enriched at each load, and its artifacts are replaced as a whole", async () => {
  let tools = [tool("get")];
  const changes: (() => void)[] = [];
  const source: ToolSource = {
    name: "tools.yaml",
    load: () => Promise.resolve([toolset("weather", ...tools)]),
    watch(changed) {
      changes.push(changed);
      return () => changes.splice(0);
    },
  };
  const tagging: Enrichment = {
    key: "tags",
    enrich: (context) => ({
      artifact: context.tools.map(({ id }) => id),
      tools: new Map(context.tools.map(({ id, tool }) => [id, { ...tool, tags: ["enriched"] }])),
    }),
  };
  const context = { signal: new AbortController().signal, log: new MemoryLog() };
  const enriched = enrichedSource(source, [tagging]);

  expect(() => enriched.enriched).toThrow('The source "tools.yaml" was not loaded yet.');
  expect(await enriched.load(context)).toEqual([toolset("weather", { ...tool("get"), tags: ["enriched"] })]);
  tools = [tool("set")];
  await enriched.load(context);
  const stop = enriched.watch?.(() => undefined);

  expect([enriched.name, enriched.enriched.artifacts.get("tags"), changes.length]).toEqual(["tools.yaml", ["weather::set"], 1]);
  stop?.();
  expect(changes).toEqual([]);
});
