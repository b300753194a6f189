import { describe, expect, test } from "vitest";
import { patchOptions, providerTools } from "../../../src/compose/prompt/provider-tools.ts";
import { PROVIDER_TOOLS } from "../../../src/compose/prompt/provider-tool-table.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";

const SEARCH = { format: "anthropic-messages", name: "web_search" };
const IMAGE = { format: "openai-responses", name: "image_generation" };

function names(tools: readonly Tool[]): readonly string[] {
  return tools.map(({ name }) => name);
}

describe("options of provider tools", () => {
  test.each<[what: string, of: typeof SEARCH, patch: JsonObject, detail: string]>([
    ["an unknown key", SEARCH, { max_use: 3 }, "$.max_use"],
    ["a key that every object has", SEARCH, JSON.parse('{"constructor": 1}'), "$.constructor"],
    ["a wrong type", SEARCH, { max_uses: "3" }, "$.max_uses"],
    ["a number out of range", SEARCH, { max_uses: 0 }, "$.max_uses"],
    ["a word of no list", IMAGE, { quality: "best" }, "$.quality"],
    ["a number past its end", IMAGE, { output_compression: 101 }, "$.output_compression"],
    ["two lists that exclude each other", SEARCH, { allowed_domains: ["a.example"], blocked_domains: ["b.example"] }, "$"],
  ])("F1.18 %s is rejected with its path", (_, of, patch, detail) => {
    const failure = { code: "invalid_argument", details: [expect.stringMatching(new RegExp(`^${detail.replaceAll("$", "\\$")}:`, "u"))] };
    expect(() => patchOptions(of, {}, patch)).toThrow(expect.objectContaining(failure));
  });

  test("F1.18 for a tool that the provider does not have are rejected", () => {
    expect(() => patchOptions({ ...SEARCH, name: "teleport" }, {}, {})).toThrow('anthropic-messages has no tool "teleport" of its own.');
    expect(() => providerTools([], "anthropic-messages", { options: { teleport: {} } })).toThrow(
      'There are options for "teleport", which is not a provider tool.',
    );
  });

  test.each<[what: string, current: JsonObject, patch: JsonObject, expected: JsonObject]>([
    [
      "a key is set beside the others",
      { max_uses: 1 },
      { allowed_domains: ["a.example"] },
      { max_uses: 1, allowed_domains: ["a.example"] },
    ],
    ["a key is set anew", { max_uses: 1 }, { max_uses: 2 }, { max_uses: 2 }],
    ["null takes a key away", { max_uses: 1, allowed_domains: ["a.example"] }, { max_uses: null }, { allowed_domains: ["a.example"] }],
    ["null takes away what is not there", { max_uses: 1 }, { blocked_domains: null }, { max_uses: 1 }],
    ["{} takes all away", { max_uses: 1, allowed_domains: ["a.example"] }, {}, {}],
  ])("F1.18 after a patch: %s", (_, current, patch, expected) => {
    const before = structuredClone(current);
    expect(patchOptions(SEARCH, current, patch)).toEqual(expected);
    expect(current).toEqual(before);
  });
});

describe("the tools of a conversation", () => {
  const own: Tool = { name: "echo", description: "Echoes.", inputSchema: {} };

  test("F1.18 include the provider's tools, in the provider's format, after the program's own", () => {
    const tools = providerTools([own], "gemini-generateContent", {
      options: { google_search: { timeRangeFilter: { startTime: "a", endTime: "b" } } },
    });
    expect(names(tools)).toEqual(["echo", "google_search", "url_context", "code_execution"]);
    expect(tools[1]).toEqual({
      name: "google_search",
      description: "Searches the web and cites what it finds.",
      inputSchema: {},
      providerExecuted: true,
      providers: { "gemini-generateContent": { googleSearch: { timeRangeFilter: { startTime: "a", endTime: "b" } } } },
    });
    expect(providerTools([], "gemini-interactions")[0]?.providers).toEqual({ "gemini-interactions": { type: "google_search" } });
    expect(providerTools([], "anthropic-messages", { options: { web_search: { max_uses: 2 } } })[0]?.providers).toEqual({
      "anthropic-messages": { type: "web_search_20250305", name: "web_search", max_uses: 2 },
    });
  });

  test("F1.18 an unknown provider adds none", () => {
    expect(providerTools([own], "mistral")).toEqual([own]);
    expect(providerTools([own], "__proto__")).toEqual([own]);
  });

  test("F1.18 disable leaves out a tool by its name, and all of them with true", () => {
    expect(names(providerTools([], "anthropic-messages", { disable: ["web_fetch", "google_search"] }))).toEqual([
      "web_search",
      "code_execution",
    ]);
    expect(providerTools([own], "anthropic-messages", { disable: true })).toEqual([own]);
    for (const disable of ["web_fetch", [5], 1, null] as unknown as readonly string[][])
      expect(() => providerTools([], "anthropic-messages", { disable })).toThrow(
        /^The option "disable" of providerTools\(\) takes a boolean or an array of names, not /u,
      );
  });

  test("F1.18 a misspelt name in disable is rejected, because the tool that was meant would stay on", () => {
    expect(() => providerTools([own], "anthropic-messages", { disable: ["web_serach"] })).toThrow(
      'The option "disable" names "web_serach", which is not a provider tool.',
    );
    expect(names(providerTools([own], "mistral", { disable: [own.name, "web_search"] }))).toEqual([own.name]);
  });

  test("F1.18 the program's own entry takes precedence with its options, also if it is not a provider tool", () => {
    const explicit: Tool = {
      ...own,
      name: "web_search",
      providerExecuted: true,
      providers: { "anthropic-messages": { type: "web_search_20990101", name: "web_search", max_uses: 9 } },
    };
    const search = providerTools([explicit], "anthropic-messages", { options: { web_search: { max_uses: 1 } } });
    expect(search.filter(({ name }) => name === "web_search")).toEqual([explicit]);
    const plain = { ...own, name: "web_search" };
    expect(providerTools([plain], "anthropic-messages").filter(({ name }) => name === "web_search")).toEqual([plain]);
  });

  test("F1.18 a tool that this provider does not run is dropped with a log line", () => {
    const lines: string[] = [];
    const foreign: Tool = { ...own, name: "maps", providerExecuted: true, providers: { "gemini-generateContent": { googleMaps: {} } } };
    const tools = providerTools([foreign, own], "openai-chat", { log: { debug: (line) => lines.push(line) } });
    expect([names(tools), lines]).toEqual([["echo"], ['The tool "maps" is left out: openai-chat does not run it.']]);
  });

  test("F1.17 F1.18 a provider tool that a model calls is never run here", async () => {
    const runtime = createRuntime({ tools: providerTools([], "gemini-generateContent") });
    const { error } = await runtime.execute({ name: "google_search", input: {} });
    expect([error?.code, error?.message]).toEqual(["not_executable", "default::google_search is run by the model's provider, never here."]);
  });

  test("F1.18 every known provider tool has a usable options schema that requires no options", () => {
    for (const [format, known] of PROVIDER_TOOLS) {
      expect(names(providerTools([], format))).toEqual(known.map(({ name }) => name));
      for (const { options } of known) expect(compileSchema(options).problems({})).toEqual([]);
    }
  });
});
