/** The registry's entry of one toolset: whether it can be called, and its tools by name. */
import { ToolError, pickHints } from "../core/error.ts";
import { checkArgument } from "../core/check-argument.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import type { Permission } from "../policy/permission.ts";
import { inheritSettings, hasSameSettings } from "../core/call-settings.ts";
import { RegisteredTool } from "./registered-tool.ts";

/** `closed` before `open` and after `close`, `ended` after the runtime was closed; an error if the toolset could not be opened. */
export type ToolsetState = "open" | "closed" | "ended" | ToolError;

export interface EntryOptions {
  /** Settings for tools where neither they nor their toolset set them. */
  readonly settings: Required<CallSettings>;
  readonly permission: Permission | undefined;
  /** The entry that this one replaces, whose state it keeps: whether it is open, and enabled or disabled by hand. */
  readonly before?: ToolsetEntry | undefined;
}

export class ToolsetEntry {
  readonly toolset: Toolset;
  /** By unqualified name. */
  readonly families = new Map<string, ToolFamily>();
  /** Tools that the program registered one by one, not as part of the toolset. */
  readonly #registeredIndividually = new Set<RegisteredTool>();
  /** Why no call of the toolset can run now; undefined if calls can run. */
  blocked: ToolError | undefined = undefined;
  readonly #settings: Required<CallSettings>;
  readonly #permission: Permission | undefined;
  #enabled: boolean;
  #state: ToolsetState = "open";

  constructor(toolset: Toolset, { settings, permission, before }: EntryOptions) {
    this.toolset = toolset;
    this.#permission = permission;
    this.#settings = inheritSettings(toolset.defaults ?? {}, settings);
    this.#enabled = before?.wasToggled === true ? before.enabled : toolset.enabled !== false;
    if (before !== undefined) this.#state = before.#state;
    this.#updateBlocked();
  }

  /** Whether it was enabled or disabled since it was registered. */
  get wasToggled(): boolean {
    return this.#enabled !== (this.toolset.enabled !== false);
  }

  /** Whether a tool registered in the other entry would have the same engine and settings here. */
  hasSameSettings(other: ToolsetEntry): boolean {
    const { engine, maxConcurrent, shared = false } = other.toolset;
    const { engine: ownEngine, maxConcurrent: ownMaxConcurrent, shared: ownShared = false } = this.toolset;
    return (
      ownEngine === engine && ownMaxConcurrent === maxConcurrent && ownShared === shared && hasSameSettings(this.#settings, other.#settings)
    );
  }

  get enabled(): boolean {
    return this.#enabled;
  }

  set enabled(enabled: boolean) {
    this.#enabled = enabled;
    this.#updateBlocked();
  }

  set state(state: ToolsetState) {
    const fits = state === "open" || state === "closed" || state === "ended" || state instanceof ToolError;
    checkArgument(fits, "setToolsetState()", '"open", "closed", "ended" or a ToolError', state);
    this.#state = state;
    this.#updateBlocked();
  }

  /** False if the toolset is disabled or could not be opened: its tools are then not offered. */
  get isOffered(): boolean {
    return this.#enabled && !(this.#state instanceof ToolError);
  }

  /** The tools that the program registered one by one and has not removed. */
  get registeredIndividually(): readonly RegisteredTool[] {
    return [...this.#registeredIndividually].filter(
      (registered) => this.families.get(registered.tool.name)?.tools.includes(registered) === true,
    );
  }

  /** Adds a tool that stays when the toolset is replaced. */
  addIndividually(registered: RegisteredTool): ToolFamily {
    this.#registeredIndividually.add(registered);
    return this.add(registered);
  }

  /** @param blocked why it must not be called although it exists @param isListedByEngine whether the engine listed it */
  makeTool(tool: Tool, blocked?: ToolError, isListedByEngine: boolean = false): RegisteredTool {
    const { toolset } = this;
    const formats = toolset.checkFormats ?? !isListedByEngine;
    return new RegisteredTool(tool, { toolset, inherited: this.#settings, blocked, permission: this.#permission, formats });
  }

  /** Adds a tool to the family of its name, which is created for the first one. */
  add(registered: RegisteredTool): ToolFamily {
    const { name } = registered.tool;
    let family = this.families.get(name);
    if (family === undefined) {
      family = new ToolFamily(this, registered);
      this.families.set(name, family);
    } else family.add(registered);
    return family;
  }

  #updateBlocked(): void {
    this.blocked = this.#findBlockReason();
  }

  #findBlockReason(): ToolError | undefined {
    const name = JSON.stringify(this.toolset.name);
    if (!this.#enabled) return new ToolError("unavailable", `The toolset ${name} is disabled.`);
    if (this.#state === "open") return undefined;
    if (this.#state === "ended") return new ToolError("unavailable", "The runtime is closed.", { operatorHint: "Create a new one." });
    if (this.#state === "closed") {
      return new ToolError("unavailable", `The toolset ${name} is not open.`, {
        operatorHint: "Its tools can be called between open() and close().",
      });
    }
    const { message, details } = this.#state;
    return new ToolError("unavailable", `The toolset ${name} could not be opened: ${message}`, {
      details,
      ...pickHints(this.#state),
      cause: this.#state,
    });
  }
}

/** All tools of one qualified name: one, or several overloads in the order of registration. */
export class ToolFamily {
  readonly entry: ToolsetEntry;
  tools: readonly RegisteredTool[];
  /** The enabled tools, or none if the permission rules deny the name. The same array as `tools` if all are callable. */
  callable: readonly RegisteredTool[];
  readonly #first: RegisteredTool;

  constructor(entry: ToolsetEntry, first: RegisteredTool) {
    this.entry = entry;
    this.#first = first;
    this.tools = [first];
    this.callable = isCallable(first) ? this.tools : [];
  }

  /** The unqualified name. */
  get name(): string {
    return this.#first.tool.name;
  }

  get qualifiedName(): string {
    return this.#first.qualifiedName;
  }

  add(registered: RegisteredTool): void {
    this.tools = [...this.tools, registered];
    this.#updateCallable();
  }

  setEnabled(enabled: boolean): void {
    for (const registered of this.tools) registered.enabled = enabled;
    this.#updateCallable();
  }

  /** Whether its tools are shown to models and clients. */
  get isOffered(): boolean {
    return this.callable.length > 0 && this.entry.isOffered;
  }

  /** Why the permission rules deny it; undefined if they do not. */
  get denied(): string | undefined {
    return this.#first.denied;
  }

  /** Whether it counts when its bare name is resolved: unless disabled or denied, whether or not its toolset is open. */
  get competesForBareName(): boolean {
    return this.callable.length > 0 && this.entry.enabled;
  }

  /** Why none of its tools can be called now; undefined if one can. */
  get blocked(): ToolError | undefined {
    if (this.entry.blocked !== undefined) return this.entry.blocked;
    if (this.callable.length > 0) return undefined;
    return new ToolError("unavailable", `The tool ${JSON.stringify(this.qualifiedName)} is disabled.`);
  }

  #updateCallable(): void {
    this.callable = this.tools.every(isCallable) ? this.tools : this.tools.filter(isCallable);
  }
}

function isCallable({ enabled, denied }: RegisteredTool): boolean {
  return enabled && denied === undefined;
}
