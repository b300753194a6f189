/** Which changes of lists concern a caller that sees some tools only: it is not notified of the others. */
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Audience } from "./announcer.ts";
import type { ConnectionInfo, Shared } from "./serving.ts";
import type { Source } from "./source.ts";
import { visibleTo } from "./visible-to.ts";

export class SeenLists {
  readonly #shared: Pick<Shared, "tools" | "peers" | "settings">;
  readonly #info: Pick<ConnectionInfo, "caller">;
  /** Undefined for a caller that sees every tool. */
  #tools: readonly RegisteredTool[] | undefined;

  constructor(shared: Pick<Shared, "tools" | "peers" | "settings">, info: Pick<ConnectionInfo, "caller">) {
    this.#shared = shared;
    this.#info = info;
    this.#tools = this.#seen();
  }

  isSeen(source: Source): boolean {
    return this.#shared.peers.isSeen(source, visibleTo(this.#shared.settings, this.#info.caller));
  }

  /** Whether it sees other tools than when this was last asked. */
  toolsChanged(): boolean {
    const before = this.#tools;
    const now = (this.#tools = this.#seen());
    if (before === undefined || now === undefined) return true;
    return before.length !== now.length || before.some((tool, index) => tool !== now[index]);
  }

  #seen(): readonly RegisteredTool[] | undefined {
    const visible = visibleTo(this.#shared.settings, this.#info.caller);
    return visible === undefined ? undefined : this.#shared.tools.seenBy(visible);
  }
}

const TOOLS = "notifications/tools/list_changed";
const PROMPTS = "notifications/prompts/list_changed";
const RESOURCES = "notifications/resources/list_changed";

/** Of the changes that the SDK writes to the event stream of every caller, those of what this one sees. */
export class SeenNews implements Audience {
  readonly #lists: SeenLists;
  /** The methods of changes that were announced, and not written yet. */
  readonly #wanted = new Set<string>();

  constructor(lists: SeenLists) {
    this.#lists = lists;
  }

  toolsChanged(): void {
    if (this.#lists.toolsChanged()) this.#wanted.add(TOOLS);
  }

  promptsChanged(source?: Source): void {
    if (source === undefined || this.#lists.isSeen(source)) this.#wanted.add(PROMPTS);
  }

  resourcesChanged(source?: Source): void {
    if (source === undefined || this.#lists.isSeen(source)) this.#wanted.add(RESOURCES);
  }

  resourceUpdated(): void {}

  logged(): void {}

  /** Whether a part of the stream is about what the caller does not see. */
  hides(frame: string): boolean {
    const method = [TOOLS, PROMPTS, RESOURCES].find((one) => frame.includes(`"method":"${one}"`));
    return method !== undefined && !this.#wanted.delete(method);
  }
}
