/** Filters announcements of changed lists for callers that see only some tools. */
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { Audience } from "./announcer.ts";
import type { ConnectionInfo, Shared } from "./serving.ts";
import type { Source } from "./source.ts";
import type { OfferedTool } from "./tool-list.ts";
import { visibleTo } from "./visible-to.ts";

export class SeenLists {
  readonly #shared: Pick<Shared, "tools" | "peers" | "settings">;
  readonly #info: Pick<ConnectionInfo, "caller">;
  #listed: readonly OfferedTool[];
  /** The listed tools that the caller saw at the last check; undefined if it sees every tool. */
  #tools: readonly RegisteredTool[] | undefined;

  constructor(shared: Pick<Shared, "tools" | "peers" | "settings">, info: Pick<ConnectionInfo, "caller">) {
    this.#shared = shared;
    this.#info = info;
    this.#listed = shared.tools.listed;
    this.#tools = seenOf(this.#listed, this.#visible);
  }

  isSeen(source: Source): boolean {
    return this.#shared.peers.isSeen(source, visibleTo(this.#shared.settings, this.#info.caller));
  }

  /**
   * Whether the caller sees other tools than at the last check. If its rules have changed since, it may have listed tools before or after that, so
   * the earlier tools are compared under the old and the new rules.
   */
  toolsChanged(): boolean {
    const [listed, tools, visible] = [this.#listed, this.#tools, this.#visible];
    this.#listed = this.#shared.tools.listed;
    const now = (this.#tools = seenOf(this.#listed, visible));
    return !isSame(tools, now) || !isSame(seenOf(listed, visible), now);
  }

  get #visible(): Visibility | undefined {
    return visibleTo(this.#shared.settings, this.#info.caller);
  }
}

function seenOf(listed: readonly OfferedTool[], visible: Visibility | undefined): readonly RegisteredTool[] | undefined {
  return visible && listed.flatMap(({ registered }) => (visible.permits(registered.qualifiedName) ? [registered] : []));
}

/** Whether both lists are the same. false if the caller sees every tool: then this is checked only when tools have changed. */
function isSame(before: readonly RegisteredTool[] | undefined, now: readonly RegisteredTool[] | undefined): boolean {
  return before?.length === now?.length && before?.every((tool, index) => tool === now?.[index]) === true;
}

const TOOLS = "notifications/tools/list_changed";
const PROMPTS = "notifications/prompts/list_changed";
const RESOURCES = "notifications/resources/list_changed";

/** Selects, from the changes that the SDK writes to every caller's event stream, those that this caller may see. */
export class SeenNews implements Audience {
  readonly #lists: SeenLists;
  /** Methods of announced changes that are not written yet. */
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

  /** Whether a frame of the stream announces a change that the caller must not see. */
  hides(frame: string): boolean {
    const method = [TOOLS, PROMPTS, RESOURCES].find((one) => frame.includes(`"method":"${one}"`));
    return method !== undefined && !this.#wanted.delete(method);
  }
}
