import { realpathSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { trustNeeds } from "../../src/config/trust/trust-needs.ts";
import { configFolder } from "./config-folder.ts";

type Table = Readonly<Record<string, unknown>>;

const ABOVE = realpathSync(tmpdir());

/** The lines, without the folder of the configuration. */
async function needsOf(config: Table, more: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const folder = configFolder({ "haft.json": JSON.stringify(config), ...more });
  const { starts, sends, widens } = await trustNeeds(await loadConfig(join(folder, "haft.json"), { environment: {} }));
  return [...starts, ...sends, ...widens].map((line) => line.replaceAll(folder, "."));
}

/** Each of them gives one right. */
const WIDENING: readonly (readonly [what: string, config: Table, line: string])[] = [
  [
    "a workspace above the folder",
    { toolsets: { a: { type: "files", root: ".." } } },
    `toolsets.a.root reaches ${ABOVE}, outside the folder of the configuration`,
  ],
  [
    "a workspace elsewhere, that only reads",
    { toolsets: { a: { type: "files", root: "/etc", readOnly: true } } },
    "toolsets.a.root reaches /etc, outside the folder of the configuration",
  ],
  [
    "paths outside the workspace",
    { toolsets: { a: { type: "files", root: ".", guard: "warn" } } },
    'toolsets.a.guard lets tools leave the root: "warn"',
  ],
  [
    "files that programs obey",
    { toolsets: { b: { type: "files", root: ".", allowSensitive: [".env"] } } },
    "toolsets.b.allowSensitive lets tools change files that other programs obey, and read files of credentials: .env",
  ],
  [
    "tokens of an issuer",
    { serve: { auth: { resource: "https://a.example", issuers: [{ issuer: "https://login.example" }] } } },
    "serve.auth.issuers[0] lets senders with tokens of https://login.example use a server",
  ],
  [
    "tokens of users elsewhere",
    { serve: { logins: { folder: "/var/lib/logins" } } },
    "serve.logins.folder reaches /var/lib/logins, outside the folder of the configuration",
  ],
  [
    "requests of pages of another origin",
    { serve: { allowedOrigins: ["https://app.example"] } },
    "serve.allowedOrigins lets pages of https://app.example send requests to a server",
  ],
  [
    "pages of another origin",
    { serve: { corsOrigins: ["https://app.example"] } },
    "serve.corsOrigins lets pages of https://app.example read answers of a server",
  ],
  [
    "a webhook at a private address",
    { webhooks: [{ url: "http://localhost/hook", secret: "env:S", allowPrivate: ["10.0.0.7"] }] },
    "webhooks[0].allowPrivate reaches private addresses: 10.0.0.7",
  ],
  [
    "news for another service",
    { webhooks: [{ url: "https://hooks.example/haft?key=1", secret: "env:S" }] },
    "webhooks[0].url sends which calls wait for approval, and which jobs have ended, to https://hooks.example",
  ],
  ["calls without approval", { approval: { never: ["a::*"] } }, "approval.never runs tools without asking: a::*"],
  [
    "private addresses of a server",
    { toolsets: { c: { type: "mcp", url: "https://example.com/mcp", allowPrivate: ["10.0.0.7"] } } },
    "toolsets.c.allowPrivate reaches private addresses: 10.0.0.7",
  ],
  [
    "a server at a private address",
    { toolsets: { c: { type: "mcp", url: "http://10.0.0.7:8080/mcp" } } },
    "toolsets.c.url reaches the private address 10.0.0.7",
  ],
  [
    "a service at the address of a cloud's metadata",
    { toolsets: { d: { type: "openapi", document: "d.json", baseUrl: "http://169.254.169.254/latest" } } },
    "toolsets.d.baseUrl reaches the private address 169.254.169.254",
  ],
  [
    "a document at a private address",
    { engines: { r: { type: "rest", document: "http://[fd00::1]/d.json" } } },
    "engines.r.document reaches the private address [fd00::1]",
  ],
  [
    "private addresses of a service",
    { toolsets: { d: { type: "openapi", document: "d.json", allowPrivate: ["localhost"] } } },
    "toolsets.d.allowPrivate reaches private addresses: localhost",
  ],
  [
    "any certificate",
    { toolsets: { c: { type: "mcp", url: "https://example.com/mcp", verifyTls: false } } },
    "toolsets.c.verifyTls accepts any certificate",
  ],
  [
    "hints that are believed",
    { toolsets: { e: { type: "mcp", url: "https://example.com/mcp", trustAnnotations: true } } },
    "toolsets.e.trustAnnotations trusts what the server says about its tools",
  ],
  [
    "a document that is believed",
    { toolsets: { d: { type: "openapi", document: "d.json", trustExtensions: true } } },
    "toolsets.d.trustExtensions trusts what the document says about its operations",
  ],
  [
    "effects in place of those of a document",
    { toolsets: { d: { type: "openapi", document: "d.json", effects: { "*": "readOnly" } } } },
    "toolsets.d.effects says what tools do, so that they may not be asked about: *",
  ],
  [
    "a document elsewhere",
    { toolsets: { f: { type: "openapi", document: "/etc/api.json" } } },
    "toolsets.f.document reaches /etc/api.json, outside the folder of the configuration",
  ],
  [
    "tools elsewhere",
    { toolsets: { f: { type: "file", path: "/etc/tools.yaml" } } },
    "toolsets.f.path reaches /etc/tools.yaml, outside the folder of the configuration",
  ],
  ["a store elsewhere", { store: { path: "../haft.db" } }, `store.path reaches ${ABOVE}/haft.db, outside the folder of the configuration`],
  [
    "documents elsewhere",
    { engines: { s: { type: "search", documents: "/etc/passwd" } } },
    "engines.s.documents reaches /etc/passwd, outside the folder of the configuration",
  ],
  [
    "a recording elsewhere",
    { simulation: { recording: "/etc/r.jsonl" } },
    "simulation.recording reaches /etc/r.jsonl, outside the folder of the configuration",
  ],
  [
    "private addresses of an engine",
    { engines: { r: { type: "rest", document: "d.json", allowPrivate: ["10.0.0.7"] } } },
    "engines.r.allowPrivate reaches private addresses: 10.0.0.7",
  ],
  [
    "conversations that go elsewhere",
    { model: { name: "openai/gpt", baseUrl: "https://example.com/v1" } },
    "model.baseUrl sends conversations and the key of openai to https://example.com",
  ],
  [
    "a variable that is not a key of the provider",
    { model: { name: "openai/gpt", apiKey: "env:AWS_SECRET" } },
    "model.apiKey sends the variable AWS_SECRET",
  ],
  [
    "conversations of a model that plays tools",
    { engines: { l: { type: "lm", model: { name: "ollama/x", baseUrl: "http://10.0.0.7:11434" } } } },
    "engines.l.model.baseUrl sends conversations and the key of ollama to http://10.0.0.7:11434",
  ],
  [
    "conversations of a delegate",
    {
      toolsets: {
        team: { type: "delegates", delegates: { a: { description: "A", model: { name: "ollama/x", baseUrl: "http://10.0.0.7:11434" } } } },
      },
    },
    "toolsets.team.delegates.a.model.baseUrl sends conversations and the key of ollama to http://10.0.0.7:11434",
  ],
  [
    "definitions of tools that a model is asked about",
    { tools: { enrichments: [{ type: "output_parameters", model: { name: "ollama/x", baseUrl: "http://10.0.0.7:11434" } }] } },
    "tools.enrichments[0].model.baseUrl sends conversations and the key of ollama to http://10.0.0.7:11434",
  ],
  [
    "a folder elsewhere that answers about tools are kept in",
    { tools: { enrichments: [{ type: "output_parameters", model: "ollama/x", cache: "/tmp/answers" }] } },
    "tools.enrichments[0].cache reaches /tmp/answers, outside the folder of the configuration",
  ],
];

/** Each of them gives these, beside the first. */
const PROGRAMS: readonly (readonly [config: Table, lines: readonly string[]])[] = [
  [{ toolsets: { s: { type: "shell", root: "." } } }, ["toolsets.s.type runs commands that models write"]],
  [{ toolsets: { p: { type: "python", root: "work" } } }, ["toolsets.p.type runs Python programs that models write"]],
  [
    { toolsets: { s: { type: "shell", root: "/etc", sandbox: "none", network: true, allowSensitive: ["**"] } } },
    [
      "toolsets.s.type runs commands that models write",
      "toolsets.s.sandbox runs them without a sandbox, with all rights of the user",
      "toolsets.s.root reaches /etc, outside the folder of the configuration",
      "toolsets.s.network lets them reach the network",
      "toolsets.s.allowSensitive lets them change files that other programs obey, and read files of credentials: **",
    ],
  ],
  [
    { toolsets: { s: { type: "shell", root: ".", read: ["/opt/sdk"], write: ["/var/cache/x", "out"] } } },
    [
      "toolsets.s.type runs commands that models write",
      "toolsets.s.read reaches /opt/sdk, outside the folder of the configuration",
      "toolsets.s.write reaches /var/cache/x, outside the folder of the configuration",
    ],
  ],
  [
    { toolsets: { s: { type: "shell", root: "~/work", read: ["~/.ssh"], write: ["~"], shell: "/opt/sh" } } },
    [
      "toolsets.s.type runs commands that models write",
      `toolsets.s.root reaches ${homedir()}/work, outside the folder of the configuration`,
      "toolsets.s.shell runs /opt/sh",
      `toolsets.s.read reaches ${homedir()}/.ssh, outside the folder of the configuration`,
      `toolsets.s.write reaches ${homedir()}, outside the folder of the configuration`,
    ],
  ],
  [
    {
      toolsets: {
        c: {
          type: "command",
          tools: [
            { name: "log", command: ["git", "log", "a b"] },
            { name: "up", command: ["uptime"] },
          ],
        },
      },
    },
    ['toolsets.c runs git log "a b"', "toolsets.c runs uptime"],
  ],
  [
    {
      toolsets: {
        c: {
          type: "command",
          sandbox: "bubblewrap",
          network: true,
          read: ["/opt/sdk"],
          write: ["/var/x"],
          tools: [{ name: "up", command: ["up"] }],
        },
      },
    },
    [
      "toolsets.c runs up",
      "toolsets.c.network lets them reach the network",
      "toolsets.c.read reaches /opt/sdk, outside the folder of the configuration",
      "toolsets.c.write reaches /var/x, outside the folder of the configuration",
    ],
  ],
  [{ toolsets: { m: { type: "memory", sessions: "all" } } }, ["toolsets.m.sessions lets models search all sessions of the store"]],
  [
    { toolsets: { h: { type: "http", baseUrl: "http://10.0.0.7", verifyTls: false, tools: [{ name: "get", url: "/" }] } } },
    ["toolsets.h.baseUrl reaches the private address 10.0.0.7", "toolsets.h.verifyTls accepts any certificate"],
  ],
];

/** None of them gives any. */
const ORDINARY: readonly Table[] = [
  { toolsets: { o: { type: "files", root: "." } } },
  { toolsets: { p: { type: "files", root: "notes", guard: "block", readOnly: true, allowSensitive: [] } } },
  { toolsets: { q: { type: "file", path: "tools.yaml" } } },
  { toolsets: { r: { type: "inline", tools: [] } } },
  { toolsets: { s: { type: "mcp", url: "https://example.com/mcp" } } },
  { toolsets: { local: { type: "mcp", url: "http://localhost:3000/mcp" }, ip: { type: "mcp", url: "http://127.0.0.1:3000/mcp" } } },
  { toolsets: { ten: { type: "mcp", url: "https://8.8.8.8/mcp" } } },
  { toolsets: { web: { type: "http", baseUrl: "https://example.com", tools: [{ name: "get", url: "/" }] } } },
  { toolsets: { t: { type: "openapi", document: "d.json", include: { tags: ["a"] } } } },
  { toolsets: { u: { type: "files", root: "/", guard: "off", enabled: false } } },
  { toolsets: { crew: { type: "delegates", delegates: { a: { description: "A", model: "ollama/x", allow: ["o::*"] } } } } },
  { permission: { allow: ["o::*"], deny: ["*::write"] } },
  { approval: { always: ["*"], timeoutMs: 5 } },
  { store: { path: "haft.db" } },
  { model: { name: "anthropic/claude", apiKey: "env:ANTHROPIC_API_KEY" } },
  { engines: { v: { type: "lm", model: { name: "ollama/qwen3", baseUrl: "http://localhost:11434" } } } },
  { tools: { enrichments: [{ type: "output_parameters", model: "ollama/x", cache: ".cache" }, { type: "dataflow" }] } },
  { simulation: { recording: "r.jsonl" }, retry: { jitter: false }, runtime: { timeoutMs: 9 } },
];

describe("what a configuration must be trusted for", () => {
  test.each(PROGRAMS)("J08 programs and requests need trust: %j", async (config, lines) => {
    expect(await needsOf(config)).toEqual(lines);
  });

  test("issue 18 J08 variables set for the programs of a command toolset", async () => {
    const k = { type: "command", env: { LD_PRELOAD: "./a.so", LANG: "C" }, tools: [{ name: "t", command: ["ls"] }] };
    expect(await needsOf({ toolsets: { k } })).toEqual([
      "toolsets.k runs ls",
      "toolsets.k.env sets variables of the programs that it runs: LD_PRELOAD, LANG",
    ]);
  });

  test("J08 F1.4 variables and the folder of one tool of a command toolset", async () => {
    const tool = { name: "t", command: ["ls"], environment: { LD_PRELOAD: "./a.so" }, workingFolder: "../../etc" };
    expect(await needsOf({ toolsets: { k: { type: "command", root: "work", tools: [tool] } } })).toEqual([
      "toolsets.k runs ls",
      "toolsets.k.tools sets variables of the programs that it runs: LD_PRELOAD",
      expect.stringMatching(/^toolsets\.k\.tools reaches \/.*etc, outside the folder of the configuration$/u),
    ]);
    const inside = { ...tool, environment: {}, workingFolder: ".." };
    expect(await needsOf({ toolsets: { k: { type: "command", root: "work", tools: [inside] } } })).toEqual(["toolsets.k runs ls"]);
  });

  test.each(WIDENING)("J08 %s", async (_what, config, line) => {
    expect(await needsOf(config)).toEqual([line]);
  });

  test("J08 ordinary settings need no trust, alone or combined; together with any widening setting they do", async () => {
    for (const config of ORDINARY) expect([config, await needsOf(config)]).toEqual([config, []]);
    await fc.assert(
      fc.asyncProperty(
        fc.subarray([...ORDINARY]),
        fc.subarray(WIDENING.map(([, config, line]) => ({ config, line }))),
        async (ordinary, widening) => {
          const merged = [...ordinary, ...widening.map(({ config }) => config)].reduce<Record<string, object>>((all, config) => {
            for (const [key, value] of Object.entries(config)) all[key] = Array.isArray(value) ? value : { ...all[key], ...Object(value) };
            return all;
          }, {});
          expect((await needsOf(merged)).length > 0).toBe(widening.length > 0);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("J08 a workspace that is a link to another folder counts as outside", async () => {
    const folder = configFolder({ "haft.toml": '[toolsets.a]\ntype = "files"\nroot = "inner"\n' });
    symlinkSync("/etc", join(folder, "inner"));

    expect(await trustNeeds(await loadConfig(join(folder, "haft.toml")))).toMatchObject({
      widens: [`toolsets.a.root reaches ${folder}/inner, outside the folder of the configuration`],
    });
  });

  test("J08 a server in a descriptor needs trust like one in the configuration", async () => {
    const config = { toolsets: { d: { type: "descriptors", path: "d" } } };
    const server = '[mcp.far]\nurl = "https://example.com/mcp"\ntrustAnnotations = true\n';

    expect(await needsOf(config, { "d/far.toml": server })).toEqual([
      "toolsets.d: ./d/far.toml mcp.far.trustAnnotations trusts what the server says about its tools",
    ]);
  });
});
