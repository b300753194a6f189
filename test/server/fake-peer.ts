/** A connected MCP server, as a gateway sees it. */
import type { Engine } from "../../src/core/engine.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { MCP_PEER, PeerError, type McpPeer, type PeerNotification } from "../../src/engine/mcp/peer.ts";

/** What a connected server lists and was asked, for a toolset whose engine is its client. */
export class FakePeer implements McpPeer {
  readonly name: string;
  readonly identity: McpPeer["identity"] = {
    protocolVersion: "2025-11-25",
    capabilities: { resources: { subscribe: true }, prompts: {}, completions: {} },
    serverInfo: { name: "fake", version: "1" },
    instructions: undefined,
  };
  readonly asked: unknown[] = [];
  readonly #resources: readonly string[];
  readonly #listeners = new Set<(notification: PeerNotification) => void>();

  constructor(name: string, resources: readonly string[]) {
    this.name = name;
    this.#resources = resources;
  }

  async listResources({ cursor }: JsonObject): Promise<JsonObject> {
    const index = Number(cursor ?? 0); // one a page
    const uri = this.#resources[index];
    const more = index + 1 < this.#resources.length ? { nextCursor: String(index + 1) } : {};
    return { resources: uri === undefined ? [] : [{ uri, name: `${this.name} ${index}` }], ...more };
  }

  async listResourceTemplates(): Promise<JsonObject> {
    return { resourceTemplates: [{ uriTemplate: `${this.name}:///{id}`, name: "by id" }] };
  }

  async readResource(params: JsonObject): Promise<JsonObject> {
    const uri = String(params["uri"]);
    const isTheirs = this.#resources.includes(uri) || uri.startsWith(`${this.name}:///`);
    if (!isTheirs) throw new PeerError("invalid_input", "Resource not found", { rpcCode: -32_002, rpcMessage: "Resource not found" });
    return { contents: [{ uri, text: `from ${this.name}` }] };
  }

  async subscribe(params: JsonObject): Promise<JsonObject> {
    this.asked.push({ subscribe: params["uri"] });
    return {};
  }

  async unsubscribe(params: JsonObject): Promise<JsonObject> {
    this.asked.push({ unsubscribe: params["uri"] });
    return {};
  }

  async listPrompts(): Promise<JsonObject> {
    return { prompts: [{ name: "greet", description: `Greets in ${this.name}.`, arguments: [{ name: "whom" }] }] };
  }

  async getPrompt(params: JsonObject, { ask }: Parameters<McpPeer["getPrompt"]>[1]): Promise<JsonObject> {
    if (params["arguments"] === undefined)
      throw new PeerError("invalid_input", "whom?", { rpcCode: -32_602, rpcMessage: "whom?", rpcData: { field: "whom" } });
    const answer = await ask?.({ message: "Loudly?", schema: { type: "object", properties: {} } }, this.name);
    const text = JSON.stringify([this.name, params, answer?.action]);
    return { messages: [{ role: "user", content: { type: "text", text } }] };
  }

  async complete({ ref, argument }: JsonObject): Promise<JsonObject> {
    this.asked.push({ ref, argument });
    return { completion: { values: [this.name] } };
  }

  async setLogLevel(params: JsonObject): Promise<JsonObject> {
    this.asked.push({ level: params["level"] });
    return {};
  }

  onNotification(listener: (notification: PeerNotification) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(method: PeerNotification["method"], params: JsonObject = {}): void {
    for (const listener of this.#listeners) listener({ method, params });
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  toolset(tools: readonly string[] = []): Toolset {
    const listed = tools.map((name) => ({ name, description: "", inputSchema: {} }));
    const engine: Engine & { readonly [MCP_PEER]: McpPeer } = { kind: "mcp", open: async () => listed, call: () => "", [MCP_PEER]: this };
    return { name: this.name, engine };
  }
}
