/** Every place that lists tools for a model or a client, with tools that the permission rules deny: none of them says a denied name. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { toLangChainTools } from "../../src/adapters/langchain.ts";
import { toMastraTools } from "../../src/adapters/mastra.ts";
import { toOpenAiAgentsTools } from "../../src/adapters/openai-agents.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { buildPrompt } from "../../src/compose/prompt/build-prompt.ts";
import { modelTools } from "../../src/compose/prompt/model-tools.ts";
import { checkSequence } from "../../src/compose/sequence/check-sequence.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import type { PermissionRules } from "../../src/policy/permission.ts";
import { visibleTools } from "../../src/policy/visibility.ts";
import { infoToolset } from "../../src/toolsets/info.ts";
import { WIRE_NAMES } from "../../src/server/api/handlers/message-formats.ts";
import * as wire from "../../src/wire/wire.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { openRuntime, overStdio } from "../server/mcp-clients.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { WIRE_FORMATS } from "./wire-formats.ts";

const SRC = join(import.meta.dirname, "../../src");

/** The bare names of the denied tools hold `erase`, those of the others do not. */
const RULES: readonly (readonly [rules: PermissionRules, denied: readonly string[]])[] = [
  [{ deny: ["todo::erase"] }, ["todo::erase"]],
  [{ deny: ["*::*erase*"] }, ["todo::erase", "vault::erase_all", "default::eraser"]],
  [{ deny: ["vault::*"] }, ["vault::erase_all"]],
  [{ allow: ["todo::list", "manual::*", "default::note"] }, ["todo::erase", "vault::erase_all", "default::eraser"]],
  [{ allow: ["*"], deny: ["vault::erase_all", "todo::erase"] }, ["todo::erase", "vault::erase_all"]],
];

type Surface = (runtime: Runtime) => unknown;

/** All that a model or a client reads of the tools. A new one gets its row here. */
const SURFACES: Readonly<Record<string, Surface>> = {
  "registry.list": ({ registry }) => registry.list().map(({ tool: { name, description } }) => [name, description]),
  "registry.names": ({ registry }) => registry.names(),
  "registry.search": ({ registry }) => registry.search({ text: "erase everything list note" }).map(({ qualifiedName }) => qualifiedName),
  "registry.search by a part of the name": ({ registry }) => registry.search({ nameContains: "eras" }).map((one) => one.qualifiedName),
  visibleTools: ({ registry }) => visibleTools(registry, { allow: ["*"] }).map(({ qualifiedName }) => qualifiedName),
  modelTools: ({ registry }) => modelTools(registry),
  "the prompt": ({ registry }) => buildPrompt(registry, { mode: "dynamic" }),
  "the prompt with documentation": ({ registry }) => buildPrompt(registry, { mode: "static" }),
  "a loop's request": async (runtime) => {
    const model = scriptedModel([{ text: "done" }]);
    await createLoop({ model, session: runtime.session() }).run("Hello.");
    return model.requests.map(({ tools, system }) => ({ tools, system }));
  },
  "the AI SDK": (runtime) => toAiSdkTools(runtime),
  LangChain: (runtime) => toLangChainTools(runtime, (_run: unknown, fields: unknown) => fields),
  Mastra: (runtime) => toMastraTools(runtime, (fields: unknown) => fields),
  "OpenAI Agents": (runtime) => toOpenAiAgentsTools(runtime, (fields: unknown) => fields),
  "tools/list of MCP": async (runtime) => {
    const { client } = await overStdio(runtime, { era: "modern" });
    return client.listTools();
  },
  "errors about names that are near": async (runtime) =>
    (
      await runtime.execute(["todo::eras", "eras", "lisst", "eraseall", "vault::erase_al", "vault::nothing", "tood::erasee"].map(called))
    ).map(({ error }) => ({ ...error, operatorHint: "" })),
  "a program that checks a sequence": ({ registry }) => checkSequence([{ id: "one", name: "eras", arguments: {} }], { tools: registry }),
  ...Object.fromEntries(
    Object.entries(WIRE_FORMATS).map(([name, make]): [string, Surface] => [
      `a request of ${name}`,
      ({ registry }) => {
        const format = make();
        return format.encodeRequest({ messages: [], tools: modelTools(registry, { format: format.name }) }, { model: "m" }).body;
      },
    ]),
  ),
};

function called(name: string): { readonly name: string; readonly input: JsonValue } {
  return { name, input: {} };
}

async function worldOf(permission: PermissionRules): Promise<Runtime> {
  const named = (name: string, more: Partial<Tool> = {}): Tool => tool(name, () => "done", { description: `Does ${name}.`, ...more });
  const { runtime } = await openRuntime({
    permission,
    toolsets: [
      { name: "todo", tools: [named("list"), named("erase", { promptContribution: { text: "Be careful with erase." } })] },
      { name: "vault", tools: [named("erase_all", { description: "Erases everything; erase away." })] },
    ],
    tools: [named("eraser"), named("note")],
  });
  runtime.registry.addToolset(infoToolset());
  return runtime;
}

describe.each(RULES)("under the permission rules %j", (rules, denied) => {
  test.each(Object.keys(SURFACES))("F3.37 %s contains no denied name", async (surface) => {
    const runtime = await worldOf(rules);
    const shown = JSON.stringify(await SURFACES[surface]?.(runtime)) ?? "";
    const said = denied.filter((name) => {
      const bare = name.slice(name.indexOf("::") + 2);
      return [name, wire.providerName(name), `"${bare}"`, `Does ${bare}.`, "Be careful with erase."].some(
        (text) => (text !== "Be careful with erase." || name === "todo::erase") && shown.includes(text) && !isAsked(surface, text),
      );
    });
    expect(said).toEqual([]);
  });

  test("F3.37 a denied tool is refused under each of its names, and so is its documentation", async () => {
    const runtime = await worldOf(rules);
    for (const name of denied) {
      const results = await runtime.execute([
        called(name),
        called(wire.providerName(name)),
        { name: "manual::info", input: { name: wire.providerName(name) } },
      ]);
      expect(results.map(({ error }) => error?.code)).toEqual(["permission_denied", "permission_denied", "permission_denied"]);
    }
  });
});

/** An error repeats the name that it was asked for. */
function isAsked(surface: string, text: string): boolean {
  return surface === "errors about names that are near" && text === "todo::erasee";
}

/** Who may look at tools past the permission rules, and why that reaches no model and no client. */
const PAST_THE_RULES: Readonly<Record<string, string>> = {
  "server/worker/missing-tools.ts": "whether the tool of a job is here at all",
  "call/admit/admit-call.ts": "finds which of a name's tools was called",
  "call/jobs/background-flag.ts": "asks whether a called tool has a parameter of its own by the name of the flag",
  "call/admit/once-per-turn.ts": "finds the calls of a turn that may have begun a session, in which tools that run once per turn were used",
  "call/admit/definition-changed.ts": "compares the tool of a call with what bears its name by now",
  "cli/print/print-tools.ts": "marks denied tools for the person at the terminal",
  "cli/commands/search-command.ts": "marks denied tools for the person at the terminal",
  "cli/commands/info-command.ts": "shows a person why a tool is denied",
  "generate/conversations/conversation-maker.ts": "finds which of a name's tools was called",
  "registry/definition-fingerprint.ts": "makes the digest of the tool that a person was asked about",
  "registry/called-tool.ts": "finds which of a name's tools a call had reached",
  "registry/registry.ts": "where they are",
  "runtime/resume/awaiting-within.ts": "finds the composites whose inner calls wait for approval",
  "runtime/resume/resume-jobs.ts": "finds the composites among the calls that a crash cut off",
  "runtime/tool-of-result.ts": "finds which of a name's tools a call had reached",
  "runtime/resume/resume-session.ts": "finds the composites among the calls that a crash cut off",
  "runtime/resume/resumed-sessions.ts": "finds the calls behind whose results a crash may have left a session open",
  "runtime/not-run-errors.ts": "says whether a call that a crash cut off can have run",
  "telemetry/telemetry.ts": "tells whether a name in a span is that of a tool",
  "toolsets/mcp-access/mcp-servers.ts": "finds the servers whose tools are all denied, and keeps them from the model",
  "server/mcp/peers.ts": "finds the servers whose tools are all denied, and keeps their prompts and resources back",
};

test("F3.37 every list of tools comes from the registry's listings, which apply the permission rules", () => {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const past = files.filter((file) => /\blistDenied\(|\bdenied: true\b|registry\.overloads\(/u.test(readFileSync(join(SRC, file), "utf8")));
  expect(past.sort()).toEqual([...Object.keys(PAST_THE_RULES), "server/mcp/tool-handlers.ts"].sort()); // the last one looks up what was listed
  const walked = files.filter((file) =>
    /\bof (?:\w+\.)*registry\)|\[\.\.\.(?:\w+\.)*registry\]/u.test(readFileSync(join(SRC, file), "utf8")),
  );
  expect(walked.filter((file) => !file.startsWith("config/")).sort()).toEqual([
    "call/admit/once-per-turn.ts", // whether any tool at all runs once per turn
    "call/cache/announce-write.ts", // whether any tool at all has a persistent cache
    "cli/open/blocked-tools.ts", // says to the person at the terminal what is left out
    "registry/definition-digests.ts", // digests, which name no tool
  ]);
});

test("every wire format is in the table", () => {
  const made = Object.entries(wire).filter(([, value]) => typeof value === "function" && isFormatFactory(value));
  expect(made.map(([name]) => name).sort()).toEqual(Object.keys(WIRE_FORMATS).sort());
});

test("the HTTP API accepts messages in every wire format", () => {
  expect(WIRE_NAMES).toHaveLength(Object.keys(WIRE_FORMATS).length);
});

function isFormatFactory(make: unknown): boolean {
  try {
    const made: unknown = (make as () => unknown)();
    return typeof made === "object" && made !== null && "encodeRequest" in made;
  } catch {
    return false;
  }
}
