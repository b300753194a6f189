/** An engine that keeps separate state for each session, and copies it for a branch. */
import { createRuntime, type Engine, type EngineRequest, type EngineSession, type Tool, type ToolContext } from "haft";

const inputSchema = { type: "object", properties: { page: { type: "string" } } };
const open: Tool = { name: "open", description: "Opens a page.", inputSchema, effects: { writes: ["session:tab"], idempotent: true } };
const look: Tool = { name: "look", description: "Says what is shown.", inputSchema, effects: { reads: ["session:tab"], writes: [] } };

/** A fake browser with one tab for each session. */
class BrowserEngine implements Engine {
  readonly kind = "browser";
  readonly state = "remote";
  readonly order = "sequential";
  readonly tabs = new Map<string, string>();

  async openSession({ sessionId, snapshot = "a blank page" }: EngineSession): Promise<void> {
    this.tabs.set(sessionId, String(snapshot));
  }

  forkSession(sessionId: string, branchId: string): void {
    this.tabs.set(branchId, this.tabs.get(sessionId) ?? "");
  }

  snapshotSession(sessionId: string): string {
    return this.tabs.get(sessionId) ?? "";
  }

  closeSession(sessionId: string): void {
    this.tabs.delete(sessionId);
  }

  call({ tool, input }: EngineRequest, { sessionId, history }: ToolContext): string {
    if (tool.name === "open") this.tabs.set(sessionId, String(input["page"]));
    return `${this.tabs.get(sessionId)}, after ${history.length} calls`;
  }
}

const browser = new BrowserEngine();
const runtime = createRuntime({ toolsets: [{ name: "browser", engine: browser, tools: [open, look] }] });
const session = runtime.session("ada");
await session.execute([{ name: "open", input: { page: "the news" } }, { name: "look" }]);

const branch = session.fork({ id: "what if" });
await branch.execute({ name: "open", input: { page: "the weather" } });
const tried = await session.simulate([{ name: "open", input: { page: "the sports" } }, { name: "look" }]);
console.log("tried:", ...tried.results.map(({ output }) => output));
console.log(browser.tabs);

const copy = runtime.session("grace", { from: await session.snapshot() });
console.log("grace sees", (await copy.execute({ name: "look" })).output);
await runtime.close();

/* Prints:
tried: the sports, after 2 calls the sports, after 3 calls
Map(2) { 'ada' => 'the news', 'what if' => 'the weather' }
grace sees the news, after 2 calls
*/
