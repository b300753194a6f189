/** The reference pages that are written by hand name exactly what the code knows. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { ToolError } from "../../src/core/error.ts";
import { FAULT_TYPES } from "../../src/core/answers/fault.ts";
import { FIDELITIES } from "../../src/core/answers/fidelity.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { ANSWER_SOURCES } from "../../src/core/answers/answer-source.ts";
import { SEQUENCE_REASONS } from "../../src/compose/sequence/sequence-problem.ts";
import { STOP_REASONS } from "../../src/compose/stop-reason.ts";
import { PROVIDERS, type Provider } from "../../src/model/providers.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { CHAT_VARIANTS } from "../../src/wire/chat-variants.ts";
import { TEXT_FORMATS } from "../../src/wire/text/formats.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { readTree } from "./source-tree.ts";
import { WIRE_FORMATS } from "./wire-formats.ts";

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
  return /\["\?{5}"\]: unknown key\. Known keys: (.*)\.$/mu.exec(problems.join("\n"))?.[1]?.split(", ") ?? problems;
}

/** A table of toolsets with one of a type, and the lines that go with it. */
const toolset = (type: string, lines: string): string => `[toolsets.a]\ntype = "${type}"\n${lines}`;
const authOf = (type: string, auth: string): string =>
  `${toolset(type, 'url = "http://a"\ndocument = "a"')}\n[toolsets.a.auth]\ntype = "${auth}"`;

test("the page of the configuration lists every existing key and no other", async () => {
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
    serve: listed("`[serve]`"),
    serveAuth: listed("`[serve.auth]`"),
    issuers: listed("A table of `issuers`"),
    rules: listed("A table of `rules`"),
    cache: listed("`[cache]`"),
    model: listed("`[model]`"),
    textFormat: listed("`[model.textFormat]`"),
    prices: listed("`[model.prices]`"),
    loop: listed("`[loop]`"),
    budget: listed("`[loop.budget]`"),
    findTools: listed("`[findTools]`"),
    variables: listed("`[variables]`"),
    simulation: listed("`[simulation]`"),
    faults: listed("A table of `faults`"),
    tools: listed("`[tools]`"),
    lm: listed("`[engines]`", 'An engine of `type = "lm"`'),
    lmConfig: listed("`lm_config`"),
    example: listed("`[engines]`"),
    replay: listed("`[engines]`", 'An engine of `type = "replay"`'),
    stub: listed("`[engines]`", 'An engine of `type = "stub"`'),
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
    shell: [...answersItself, ...listed('`type = "shell"`')].toSorted(),
    python: [...answersItself, ...listed('`type = "shell"`', '`type = "python"`')].filter((key) => key !== "shell").toSorted(),
    command: [...answersItself, ...listed('`type = "command"`')].toSorted(),
    http: [...answersItself, ...listed('`type = "http"`')].toSorted(),
    web: [...answersItself, ...listed('`type = "web"`')].toSorted(),
    webSearch: listed('The `search` of `type = "web"`'),
    skills: [...answersItself, ...listed('`type = "skills"`')].toSorted(),
    notebook: [...answersItself, ...listed('`type = "notebook"`')].toSorted(),
    ask: answersItself.toSorted(),
    memory: [...answersItself, ...listed('`type = "memory"`')].toSorted(),
    scratchpad: answersItself.toSorted(),
    module: [...common, ...listed('`type = "module"`')].toSorted(),
    delegates: [...answersItself, ...listed('`type = "delegates"`')].toSorted(),
    delegate: [...listed("A delegate"), ...listed("`[loop]`")].toSorted(),
    triggers: [...answersItself, ...listed('`type = "triggers"`')].toSorted(),
    channelTools: answersItself.toSorted(),
    webhooks: listed("`[[webhooks]]`"),
    channels: listed("`[[channels]]`"),
    timer: listed('A trigger of `type = "timer"`'),
    schedule: listed('A trigger of `type = "schedule"`'),
    channelTrigger: listed('A trigger of `type = "channel"`'),
  }).toEqual({
    top: await known(""),
    runtime: await known("[runtime]"),
    retry: await known("[retry]"),
    circuit: await known("[circuit]"),
    permission: await known("[permission]"),
    approval: await known("[approval]"),
    store: await known("[store]", 'path = "a.db"'),
    serve: await known("[serve]"),
    serveAuth: await known("[serve.auth]"),
    issuers: await known('[serve.auth]\nresource = "https://a"\n[[serve.auth.issuers]]', 'issuer = "https://a"'),
    rules: await known("[[serve.rules]]", 'allow = ["*"]'),
    cache: await known("[cache]"),
    model: await known("[model]", 'name = "a/b"'),
    textFormat: await known('[model]\nname = "a/b"\n[model.textFormat]', 'start = "["\nend = "]"\nslash = "opens"\narguments = "lines"'),
    prices: await known('[model]\nname = "a/b"\n[model.prices]', "inputPerMillion = 1\noutputPerMillion = 1"),
    loop: await known("[loop]"),
    budget: await known("[loop.budget]"),
    findTools: await known("[findTools]"),
    variables: await known("[variables]"),
    simulation: await known("[simulation]", 'recording = "a"'),
    faults: await known("[[simulation.faults]]", 'type = "latency"\nprobability = 1'),
    tools: await known("[tools]"),
    lm: await known("[engines.a]", 'type = "lm"\nmodel = "a/b"'),
    lmConfig: await known('[engines.a]\ntype = "lm"\n[engines.a.lm_config]', 'type = "ollama"\nmodel_id_or_path = "a"'),
    example: await known("[engines.a]", 'type = "example"'),
    replay: await known("[engines.a]", 'type = "replay"\nrecording = "a"'),
    stub: await known("[engines.a]", 'type = "stub"\nstubs = "a"'),
    search: await known("[engines.a]", 'type = "search"\ndocuments = "a"'),
    file: await known(toolset("file", 'path = "a.yaml"')),
    inline: await known(toolset("inline", "tools = []")),
    descriptors: await known(toolset("descriptors", 'path = "a"')),
    started: await known(toolset("mcp", 'command = "a"')),
    reached: await known(toolset("mcp", 'url = "http://a"')),
    serverAuth: await oneOf(["bearer", "basic", "client-credentials", "private-key-jwt", "user-login"].map((auth) => authOf("mcp", auth))),
    openapi: await known(toolset("openapi", 'document = "a"')),
    filter: await known(`${toolset("openapi", 'document = "a"')}\n[toolsets.a.include]`),
    effects: await known(`${toolset("openapi", 'document = "a"')}\n[toolsets.a.effects.b]`),
    apiAuth: await oneOf(["bearer", "basic", "apiKey", "oauth2"].map((auth) => authOf("openapi", auth))),
    files: await known(toolset("files", 'root = "."')),
    shell: await known(toolset("shell", 'root = "."')),
    python: await known(toolset("python", 'root = "."')),
    command: await known(toolset("command", 'tools = [{ name = "a", command = ["a"] }]')),
    http: await known(toolset("http", 'baseUrl = "http://a"\ntools = [{ name = "a", url = "/" }]')),
    web: await known(toolset("web", "")),
    webSearch: await known(`${toolset("web", "")}[toolsets.a.search]`, 'provider = "brave"'),
    skills: await known(toolset("skills", 'folder = "."')),
    notebook: await known(toolset("notebook", 'folder = "."')),
    ask: await known(toolset("ask", "")),
    memory: await known(toolset("memory", "")),
    scratchpad: await known(toolset("scratchpad", "")),
    module: await known(toolset("module", 'path = "a.ts"')),
    delegates: await known(toolset("delegates", "delegates = {}")),
    delegate: await known(`${toolset("delegates", "")}[toolsets.a.delegates.b]`, 'description = "b"'),
    triggers: await known(toolset("triggers", "")),
    channelTools: await known(toolset("channels", "")),
    webhooks: await known("[[webhooks]]", 'url = "https://a"\nsecret = "env:S"'),
    channels: await known("[[channels]]", 'name = "a"'),
    timer: await known("[[triggers]]", 'type = "timer"\nname = "a"'),
    schedule: await known("[[triggers]]", 'type = "schedule"\nname = "a"'),
    channelTrigger: await known("[[triggers]]", 'type = "channel"\nname = "a"'),
  });
});

test("every term of another system on the page is a known one, and not a term of Haft", async () => {
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

test("the configuration with every key is complete and valid", async () => {
  const path = "examples/config/every-key.toml";
  const page = [...tablesOf("docs/reference/configuration.md").values()].flat();
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const missing = page.filter((key) => !new RegExp(`(?:^|[[{.,] ?)${key}(?: =|[\\].])`, "mu").test(text));
  expect(missing).toEqual([]);
  expect((await loadConfig(path)).config.toolsets.size).toBe(27);
});

test.each(["every-key.toml", "simulation.toml", "tool-files.toml", "other-words.yaml", "without-code.toml"])(
  "every toolset enabled in examples/config/%s opens",
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

test("the page of events lists every existing event and no other", () => {
  const types = [...(readTree("src/core/event.ts").get("src/core/event.ts") ?? "").matchAll(/readonly type: "([^"]+)"/gu)];
  expect([...tablesOf("docs/reference/events.md").values()].flat().toSorted()).toEqual(types.map(([, type = ""]) => type).toSorted());
});

/** The rows of the table below a heading, without marks of code. */
function rowsOf(path: string, heading: string): readonly (readonly string[])[] {
  const section = (readTree(path).get(path) ?? "").split(/^#+ /mu).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const rows = [...section.matchAll(/^\| (`.*) \|$/gmu)].map(([, row = ""]) => row.split(" | "));
  return rows.map((cells) => cells.map((cell) => cell.replaceAll("`", "").trim()));
}

test("the page on models lists every provider with its format and its variables", () => {
  const known: readonly (readonly [string, Provider])[] = Object.entries(PROVIDERS);
  expect(rowsOf("docs/guides/ask-a-model.md", "Choose a provider")).toEqual(
    known.map(([name, { format, keyVariables, keyOptional = false }]) => [
      name,
      format().name,
      `${keyVariables.join(", ")}${keyOptional ? ", or none" : ""}`,
    ]),
  );
});

test("the pages on text formats and on the loop list every one that exists, in order", () => {
  expect({
    formats: tablesOf("docs/guides/use-a-model-without-tool-calls.md").get("Choose a format"),
    reasons: tablesOf("docs/guides/run-a-loop.md").get("Know why it ended")?.toSorted(),
    variants: tablesOf("docs/reference/wire-formats.md").get("Chat Completions elsewhere"),
  }).toEqual({ formats: [...TEXT_FORMATS.keys()], reasons: Object.keys(STOP_REASONS).toSorted(), variants: CHAT_VARIANTS });
});

test("the pages on simulation, faults and sequences list every source, fidelity, fault and reason, in order", () => {
  expect({
    sources: tablesOf("docs/concepts/simulation.md").get("Answer sources"),
    fidelities: tablesOf("docs/concepts/simulation.md").get("Fidelity"),
    faults: tablesOf("docs/guides/make-calls-fail.md").get("Choose the failure")?.toSorted(),
    reasons: tablesOf("docs/guides/run-a-sequence-of-calls.md").get("Check without running"),
  }).toEqual({ sources: ANSWER_SOURCES, fidelities: FIDELITIES, faults: ["type", ...FAULT_TYPES].toSorted(), reasons: SEQUENCE_REASONS });
});

test("the page on wire formats states how many replies each format gives to a request", () => {
  const formats = Object.values(WIRE_FORMATS).map((make) => make());
  expect(rowsOf("docs/reference/wire-formats.md", "A reply as JSON").map(([name, , , most]) => [name, most])).toEqual(
    formats.map((format) => [format.name, String(mostReplies(format))]),
  );
});

/** As the note says that a request for more has. */
function mostReplies(format: WireFormat): number {
  const { notes } = format.encodeRequest({ messages: [{ role: "user", at: 0, content: "Hello." }], candidates: 10_000 }, { model: "m" });
  const note = notes.find((one) => / makes (?:one reply|at most)/u.test(one.note))?.note ?? "";
  return Number(/at most (\d+)/u.exec(note)?.[1] ?? 1);
}

/** What a format does with a request for one call a message, held to the schemas. */
function requestRow([maker, format]: readonly [string, WireFormat]): readonly string[] {
  const tools = [{ name: "a", description: "A.", inputSchema: { type: "object", properties: { b: { type: "string" } }, required: ["b"] } }];
  const body = (strict: boolean): string => JSON.stringify(format.encodeRequest({ messages: [], tools }, { model: "m", strict }).body);
  const isByTool = JSON.stringify(format.encodeTools(tools, { strict: true }).tools).includes('"strict":true');
  const { notes } = format.encodeRequest({ messages: [], tools, parallelCalls: false }, { model: "m" });
  const strict = isByTool ? "by tool" : body(true) === body(false) ? "no" : "all or none";
  return [format.name, `${maker}()`, format.path({ model: "m" }), format.framing, strict, notes.length === 0 ? "yes" : "no"];
}

const SHOWN: ToolResult = {
  callId: "c1",
  name: "a",
  status: "ok",
  content: [
    { type: "text", text: "the words" },
    { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
    { type: "audio", mediaType: "audio/wav", data: "c291bmQ=" },
    { type: "file", mediaType: "application/pdf", uri: "data:application/pdf;base64,cGRm", name: "a.pdf" },
  ],
  origin: "live",
  attempts: 1,
  durationMs: 1,
  repairs: [],
  warnings: [],
};

/** Where each of the media of a result stands. */
function mediaRow(format: WireFormat): readonly string[] {
  const messages: readonly ModelMessage[] = [
    { role: "user", at: 0, content: "Show it." },
    { role: "call", at: 1, callId: "c1", turnId: "t1", call: { id: "c1", name: "a", input: {} } },
    { role: "result", at: 2, callId: "c1", result: SHOWN },
  ];
  const written = format.encodeMessages(messages).messages.map((message) => JSON.stringify(message));
  const result = written.findIndex((message) => message.includes("the words"));
  const places = ["iVBORw0KGgo=", "c291bmQ=", "cGRm"].map((data) => written.findIndex((message) => message.includes(data)));
  return [format.name, ...places.map((place) => (place < 0 ? "described" : place === result ? "in the result" : "after it"))];
}

test("the page of wire formats describes the behaviour of each format", () => {
  const page = "docs/reference/wire-formats.md";
  const formats = Object.entries(WIRE_FORMATS).map(([maker, make]) => [maker, make()] as const);
  expect(rowsOf(page, "Requests and replies")).toEqual(formats.map(requestRow));
  expect(rowsOf(page, "What a result may show")).toEqual(formats.map(([, format]) => mediaRow(format)));
  expect(tablesOf(page).get("What goes back of reasoning")).toEqual(formats.map(([, { name }]) => name));
});
