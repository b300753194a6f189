/**
 * The client that the official conformance suite drives: a runtime with one MCP server, whose tools it calls.
 *
 * Run by the suite, with the server's address as the last argument and the scenario in the environment.
 */
import { createRuntime } from "../../src/runtime/runtime.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "../../src/core/base/json.ts";
import type { JsonSchema } from "../../src/core/tool.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import { mcpEngine, type McpAuth } from "../../src/engine/mcp.ts";
import { mcpPeerOf, type McpPeer } from "../../src/engine/mcp/peer.ts";
import { loggedInAtOnce } from "./client-oauth.ts";

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const parsed = parseJson(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
const context: JsonObject = isJsonObject(parsed) ? parsed : {};
const url = process.argv.at(-1) ?? "";

const SAMPLES: Readonly<Record<string, JsonValue>> = { string: "some", integer: 5, number: 3, boolean: true, array: [], object: {} };

const engine = mcpEngine({ url, ...auth(), allowPrivate: ["localhost"] });
const runtime = createRuntime({
  toolsets: [{ name: "server", engine }],
  ask: ({ schema }) => ({ action: "accept", content: isJsonObject(schema) ? confirmed(schema) : {} }),
});
const report = await runtime.open();
for (const { error } of report.failed) process.stderr.write(`${error.message}\n${error.hint ?? ""}\n`);
const offered = runtime.registry.names("server");
for (const result of await runtime.execute(calls(offered), { validate: false })) {
  process.stderr.write(`${JSON.stringify({ name: result.name, status: result.status, error: result.error })}\n`);
}
const peer = mcpPeerOf(engine);
if (scenario === "http-standard-headers" && peer !== undefined) await readEverything(peer);
await runtime.close();
process.exit(report.failed.length === 0 ? 0 : 1);

function auth(): { readonly auth?: McpAuth } {
  if (!scenario.startsWith("auth/")) return {};
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: privateKey, issuer } = context;
  if (typeof clientId !== "string") {
    return { auth: loggedInAtOnce({ metadataUrl: "https://conformance-test.local/client-metadata.json" }) };
  }
  if (scenario === "auth/client-credentials-jwt" && typeof privateKey === "string")
    return { auth: { type: "private-key-jwt", clientId, privateKey, algorithm: "ES256" } };
  if (typeof clientSecret !== "string") return {};
  if (scenario === "auth/client-credentials-basic") return { auth: { type: "client-credentials", clientId, clientSecret } };
  return { auth: loggedInAtOnce({ client: { clientId, clientSecret, issuer: String(issuer) } }) };
}

/** What the scenario wants called, else every tool that was offered. */
function calls(names: readonly string[]): readonly { readonly name: string; readonly input: JsonObject }[] {
  const wanted = context["toolCalls"];
  if (Array.isArray(wanted)) {
    return wanted
      .filter(isJsonObject)
      .map((call) => ({ name: `server::${String(call["name"])}`, input: isJsonObject(call["arguments"]) ? call["arguments"] : {} }));
  }
  return names.map((name) => ({ name, input: filledIn(runtime.registry.require(name).tool.inputSchema) }));
}

/** Something for every field that is required. */
function filledIn(schema: JsonSchema): JsonObject {
  const { required, properties } = isJsonObject(schema) ? schema : {};
  const input: Record<string, JsonValue> = {};
  for (const name of Array.isArray(required) ? required : []) {
    const field = isJsonObject(properties) ? properties[String(name)] : undefined;
    input[String(name)] = SAMPLES[String(isJsonObject(field) ? field["type"] : "string")] ?? null;
  }
  return input;
}

/** Only what has no default is filled in: the rest is the client's to do. */
function confirmed(schema: JsonObject): JsonObject {
  const fields = isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return Object.fromEntries(fields.filter(([name, field]) => name === "confirmed" && isJsonObject(field)).map(([name]) => [name, true]));
}

async function readEverything(peer: McpPeer): Promise<void> {
  const options = { signal: AbortSignal.timeout(10_000) };
  const { resources } = await peer.listResources({}, options);
  const { prompts } = await peer.listPrompts({}, options);
  for (const resource of Array.isArray(resources) ? resources : [])
    if (isJsonObject(resource)) await peer.readResource({ uri: String(resource["uri"]) }, options);
  for (const prompt of Array.isArray(prompts) ? prompts : [])
    if (isJsonObject(prompt)) await peer.getPrompt({ name: String(prompt["name"]) }, options);
}
