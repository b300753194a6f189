/** Filters announcements of changed lists for callers that see only some tools. */
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { ChangeListener } from "./change-notifier.ts";
import type { ConnectionInfo, SharedState } from "./handler-context.ts";
import type { Source } from "./source.ts";
import type { OfferedTool } from "./tool-list.ts";
import { visibilityOfCaller } from "./visibility-of-caller.ts";

export class VisibleLists {
  readonly #shared: Pick<SharedState, "tools" | "peers" | "settings">;
  readonly #info: Pick<ConnectionInfo, "caller">;
  #listed: readonly OfferedTool[];
  /** The listed tools that the caller saw at the last check; undefined if it sees every tool. */
  #tools: readonly RegisteredTool[] | undefined;

  constructor(shared: Pick<SharedState, "tools" | "peers" | "settings">, info: Pick<ConnectionInfo, "caller">) {
    this.#shared = shared;
    this.#info = info;
    this.#listed = shared.tools.listed;
    this.#tools = seenOf(this.#listed, this.#visible);
  }

  isVisible(source: Source): boolean {
    return this.#shared.peers.isVisible(source, visibilityOfCaller(this.#shared.settings, this.#info.caller));
  }

  /**
   * Whether the caller sees other tools than at the last check. If its rules have changed since, it may have listed tools before or after that, so
   * the earlier tools are compared under the old and the new rules.
   */
  hasNewTools(): boolean {
    const [listed, tools, visible] = [this.#listed, this.#tools, this.#visible];
    this.#listed = this.#shared.tools.listed;
    const now = (this.#tools = seenOf(this.#listed, visible));
    return !isSame(tools, now) || !isSame(seenOf(listed, visible), now);
  }

  get #visible(): Visibility | undefined {
    return visibilityOfCaller(this.#shared.settings, this.#info.caller);
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
export class VisibleChanges implements ChangeListener {
  readonly #lists: VisibleLists;
  /** Methods of announced changes that are not written yet. */
  readonly #pendingMethods = new Set<string>();

  constructor(lists: VisibleLists) {
    this.#lists = lists;
  }

  toolsChanged(): void {
    if (this.#lists.hasNewTools()) this.#pendingMethods.add(TOOLS);
  }

  promptsChanged(source?: Source): void {
    if (source === undefined || this.#lists.isVisible(source)) this.#pendingMethods.add(PROMPTS);
  }

  resourcesChanged(source?: Source): void {
    if (source === undefined || this.#lists.isVisible(source)) this.#pendingMethods.add(RESOURCES);
  }

  resourceUpdated(): void {}

  messageLogged(): void {}

  /** Whether a frame of the stream announces a change that the caller must not see. */
  hidesFrame(frame: string): boolean {
    const method = [TOOLS, PROMPTS, RESOURCES].find((one) => frame.includes(`"method":"${one}"`));
    return method !== undefined && !this.#pendingMethods.delete(method);
  }
}
