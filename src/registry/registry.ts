/** Every registered toolset and tool: look-up, search, and which tool the name in a call means. */
import { copyJson, type JsonValue } from "../core/base/json.ts";
import { DEFAULT_NAMESPACE, type ToolCall } from "../core/call.ts";
import { DEFAULT_CALL_SETTINGS, inheritSettings } from "../core/call-settings.ts";
import { ToolError } from "../core/error.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { plural } from "../core/base/wording.ts";
import { createPermission, type Permission } from "../policy/permission.ts";
import { checkArray, checkListedTool, checkNewTool, checkToolset, type NewTool } from "./check-registration.ts";
import { compareToolsets, fingerprintOf, prepareToolset, rejectDuplicate } from "./prepare-toolset.ts";
import type { ToolsetChange, ToolsetParts } from "./prepare-toolset.ts";
import { listDeniedTools, listOfferedTools } from "./listed-tools.ts";
import { checkRegisterOptions, checkRegistryOptions, type RegisterOptions, type RegistryOptions } from "./registry-options.ts";
import { chooseOverload, toOverloadInput } from "./overload.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { TextIndex } from "./text-index.ts";
import { LateOpenings } from "./late-openings.ts";
import { ToolNames } from "./tool-names.ts";
import { compareNames, searchTools, type SearchQuery } from "./tool-search.ts";
import { ToolsetEntry, type ToolFamily, type ToolsetState } from "./toolset-entry.ts";

/** The symbol of the method whose result `console.log` and `util.inspect` of Node print for the object. */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * The tools of a runtime, in namespaces.
 *
 * A method that takes the name of a tool accepts a qualified name, a bare name in the namespace `default`, or a bare name that only one toolset has.
 * Listings are sorted by qualified name and leave out tools that are denied, disabled or blocked, and tools of a toolset that could not be opened;
 * look-ups, `size` and iteration include them. Everything that a model or a client is shown comes from a listing, a search or `resolve`.
 */
export class Registry implements Iterable<RegisteredTool> {
  /** Toolsets that are being opened after the others because they were added later. @internal */
  readonly lateOpenings = new LateOpenings();
  readonly #settings: Required<CallSettings>;
  readonly #overloads: boolean;
  readonly #permission: Permission | undefined;
  readonly #warn: (message: string) => void;
  readonly #names: ToolNames;
  #size = 0;
  #remembersSessions = false;
  #hasFaults = false;
  #hasSequence = false;
  #version = 0;
  #listed: readonly RegisteredTool[] | undefined = undefined;
  #index: TextIndex | undefined = undefined;

  /** @throws ToolError `invalid_argument` for unknown options, and for settings or rules that are not valid */
  constructor(options: RegistryOptions = {}) {
    checkRegistryOptions(options);
    this.#settings = inheritSettings(options.defaults ?? {}, DEFAULT_CALL_SETTINGS);
    this.#overloads = options.overloads ?? false;
    this.#permission = options.permission === undefined ? undefined : createPermission(options.permission);
    this.#warn = options.onWarning ?? (() => {});
    this.#names = new ToolNames(this.#warn);
  }

  /** Number of registered tools; overloads are counted one by one. */
  get size(): number {
    return this.#size;
  }

  /** Number of tools in a toolset, overloads counted one by one; 0 if the toolset does not exist. */
  sizeOf(toolset: string): number {
    let size = 0;
    for (const family of this.#names.entries.get(toolset)?.families.values() ?? []) size += family.tools.length;
    return size;
  }

  /** Increases with every change. A value computed from the registry is valid while the version is the same. */
  get version(): number {
    return this.#version;
  }

  /**
   * Adds one tool. Its schemas are not compiled before they are used. A tool without an input schema accepts an object with any keys.
   *
   * @throws ToolError `duplicate` for a name in use, unless overloads are allowed and the input schemas differ; `invalid_argument` for a tool that is
   * incomplete
   */
  register(given: NewTool, namespace: string = DEFAULT_NAMESPACE, options: RegisterOptions = {}): RegisteredTool {
    checkRegisterOptions(options);
    const tool = checkNewTool(given);
    const entry = this.#names.entries.get(namespace) ?? this.#makeEntry({ name: namespace });
    const registered = entry.makeTool(tool);
    rejectDuplicate(registered, entry.families.get(tool.name), options.overload ?? this.#allowsOverloads(entry));
    if (!this.#names.entries.has(namespace)) this.#names.addToolset(entry);
    this.#publish(entry.addIndividually(registered), [registered]);
    this.#markChanged();
    return registered;
  }

  /** Removes every overload of a qualified name, or of a bare name in `default`. Returns false if there is none. */
  unregister(name: string): boolean {
    const family = this.#names.findOwn(name);
    if (family === undefined) return false;
    this.#remove(family);
    this.#markChanged();
    return true;
  }

  /**
   * Adds a toolset with all its tools, or none of them if it throws.
   *
   * @throws ToolError `duplicate` if the name of the toolset or of a tool is in use, `invalid_argument` if something is incomplete
   */
  addToolset(toolset: Toolset, tools: readonly Tool[] = toolset?.tools ?? []): void {
    const entry = this.#prepare({ toolset, tools });
    if (this.#names.entries.has(toolset.name)) {
      throw new ToolError(
        "duplicate",
        `The toolset ${JSON.stringify(toolset.name)} is already registered. Remove it first, or give this one another name.`,
      );
    }
    this.#addEntry(entry);
    this.#markChanged();
    this.lateOpenings.start(toolset);
  }

  /**
   * Replaces the toolsets of the same names and removes others, all at one moment. A tool that has not changed keeps its registration, with its
   * circuit and limits. Toolsets and tools that were enabled or disabled by hand stay so.
   *
   * @throws ToolError as `addToolset`; nothing has changed then
   * @returns the differences, toolset by toolset
   */
  replace(toolsets: readonly ToolsetParts[], removed: readonly string[] = []): readonly ToolsetChange[] {
    checkArray(toolsets, "replace() takes an array of toolsets with their tools.");
    checkArray(removed, "replace() takes an array of the names of toolsets to remove.");
    const entries = toolsets.map((parts) => this.#prepare(parts));
    const changes: (ToolsetChange | undefined)[] = [];
    for (const entry of entries) {
      const before = this.#names.entries.get(entry.toolset.name);
      changes.push(compareToolsets(before, entry));
      if (before !== undefined) for (const family of before.families.values()) this.#remove(family);
      this.#addEntry(entry);
    }
    for (const name of removed) {
      changes.push(compareToolsets(this.#names.entries.get(name), undefined));
      this.removeToolset(name);
    }
    this.#markChanged();
    return changes.filter((change) => change !== undefined);
  }

  /** Whether any toolset, now or earlier, has an engine that must be notified when a session begins and ends. */
  get remembersSessions(): boolean {
    return this.#remembersSessions;
  }

  /** Whether any toolset, now or earlier, has an engine that answers one call at a time. */
  get hasSequence(): boolean {
    return this.#hasSequence;
  }

  /** Whether any toolset, now or earlier, injects faults into its calls. */
  get hasFaults(): boolean {
    return this.#hasFaults;
  }

  /**
   * Adds the tools that a toolset's engine listed, and returns how many were added.
   *
   * Engines list third-party tools, so one bad tool must not affect the others: a tool that is unusable, or whose name is taken, is left out with a
   * warning. A tool that the program itself declared under that name stays.
   *
   * @throws ToolError `not_found` if the toolset does not exist
   */
  addTools(toolset: string, tools: readonly Tool[]): number {
    const entry = this.#names.requireToolset(toolset);
    let adopted = 0;
    checkArray(tools, "addTools() takes an array of tools.");
    for (const each of tools) {
      try {
        const tool = checkListedTool(each);
        const registered = entry.makeTool(tool, undefined, true);
        rejectDuplicate(registered, entry.families.get(tool.name), this.#allowsOverloads(entry));
        this.#publish(entry.add(registered), [registered]);
        adopted++;
      } catch (error: unknown) {
        this.#warn(`A tool that the engine of ${JSON.stringify(toolset)} listed is left out: ${ToolError.fromUnknown(error).message}`);
      }
    }
    this.#markChanged();
    return adopted;
  }

  /** Removes a toolset and all its tools. Returns false if there is no toolset of this name. Does not close its engine. */
  removeToolset(name: string): boolean {
    const entry = this.#names.entries.get(name);
    if (entry === undefined) return false;
    for (const family of entry.families.values()) this.#remove(family);
    this.#names.entries.delete(name);
    this.#markChanged();
    this.lateOpenings.remove(name);
    return true;
  }

  /** Whether there is a tool of this name, even if it is denied, disabled or blocked. */
  has(name: string): boolean {
    return this.#names.find(name) !== undefined;
  }

  /** The tool of this name; of several overloads, the one that was registered first. */
  get(name: string): RegisteredTool | undefined {
    return this.#names.find(name)?.tools[0];
  }

  /** As `get`. @throws ToolError `not_found`, with similar names */
  require(name: string): RegisteredTool {
    const registered = this.get(name);
    if (registered === undefined) throw this.#names.createMissingError(name);
    return registered;
  }

  /** Every tool of this name, in the order of registration. */
  overloads(name: string): readonly RegisteredTool[] {
    return this.#names.find(name)?.tools ?? [];
  }

  /** The overload whose input schema has this fingerprint. A tool without overloads is returned for any fingerprint. */
  getByFingerprint(name: string, fingerprint: string): RegisteredTool | undefined {
    const tools = this.overloads(name);
    if (tools.length <= 1) return tools[0];
    return tools.find((registered) => fingerprintOf(registered) === fingerprint);
  }

  /** The tools on offer, of all namespaces or of those given. */
  list(namespace?: string | readonly string[]): readonly RegisteredTool[] {
    if (namespace !== undefined && typeof namespace !== "string")
      checkArray(namespace, "A namespace must be a string, or an array of strings.");
    const wanted = namespace === undefined ? undefined : new Set(typeof namespace === "string" ? [namespace] : namespace);
    this.lateOpenings.opener?.onListed(wanted);
    this.#listed ??= listOfferedTools(this.#names.entries.values());
    if (wanted === undefined) return this.#listed;
    return this.#listed.filter((registered) => wanted.has(registered.toolset.name));
  }

  /** The tools that `list` leaves out because the permission rules deny them, with the reason in `denied`. For authors of the rules. */
  listDenied(namespace?: string): readonly RegisteredTool[] {
    const denied = listDeniedTools(this.#names.entries.values());
    return namespace === undefined ? denied : denied.filter(({ toolset }) => toolset.name === namespace);
  }

  /** The qualified names of `list`, each once. */
  names(namespace?: string | readonly string[]): readonly string[] {
    return [...new Set(this.list(namespace).map((registered) => registered.qualifiedName))];
  }

  /** The names of all toolsets, sorted. */
  namespaces(): readonly string[] {
    return [...this.#names.entries.keys()].sort();
  }

  /** All toolsets, in the order they were added. */
  toolsets(): readonly Toolset[] {
    return Array.from(this.#names.entries.values(), (entry) => entry.toolset);
  }

  /**
   * Returns the tools on offer that match a query, or all of them without one; see `SearchQuery`. The first query with a text builds an index.
   *
   * @throws ToolError `invalid_argument` for a limit that is not an integer ≥ 1, and for an unknown category
   */
  search(query: SearchQuery = {}): readonly RegisteredTool[] {
    return searchTools(query, {
      list: () => (query.denied === true ? [...this.list(), ...this.listDenied()].sort(compareNames) : this.list()),
      isOffered: (registered) =>
        registered.enabled &&
        (registered.denied === undefined || query.denied === true) &&
        registered.blocked === undefined &&
        this.#names.entries.get(registered.toolset.name)?.isOffered === true,
      rank: (text, take) => (this.#index ??= TextIndex.from(this)).rank(text, take),
    });
  }

  /**
   * Returns the tools that the name in a call may mean, at least one, or the error that ends the call.
   *
   * The error `not_found` lists similar names, `ambiguous` lists the candidates, `unavailable` says why the tool cannot be called now. A disabled
   * tool does not make a bare name ambiguous; a tool whose toolset failed to open does, so that a failure never redirects a call to another tool.
   */
  resolve(name: string): readonly RegisteredTool[] | ToolError {
    return this.#names.resolve(name);
  }

  /**
   * Returns the tool that a call would reach, chosen by its name and, among overloads, by its input; undefined if there is none or several match.
   *
   * @param namespaces searched for the name: a bare name must be unambiguous only among them. @default all
   */
  match(call: ToolCall, namespaces: readonly string[] = this.namespaces()): RegisteredTool | undefined {
    checkArray(namespaces, "match() takes a call, and an array of namespaces.");
    const candidates = this.#names.resolveIn(call?.name, namespaces);
    return candidates === undefined ? undefined : chooseOverload(candidates, toOverloadInput(toJsonInput(call)));
  }

  /**
   * Enables or disables the toolset of this name, or else the tool with all its overloads. A qualified name always means a tool.
   *
   * @throws ToolError `not_found`
   */
  setEnabled(name: string, enabled: boolean): void {
    const entry = this.#names.entries.get(name);
    const family = entry === undefined ? this.#names.find(name) : undefined;
    if (entry !== undefined) entry.enabled = enabled;
    else if (family !== undefined) family.setEnabled(enabled);
    else throw this.#names.createMissingError(name);
    this.#markChanged();
  }

  /**
   * Sets whether a toolset's tools can be called now: `closed` before open and after close, `ended` once the runtime has ended, an error if opening
   * failed. Returns false if there is no toolset of this name, for example because it was removed meanwhile.
   */
  setToolsetState(name: string, state: ToolsetState): boolean {
    const entry = this.#names.entries.get(name);
    if (entry === undefined) return false;
    entry.state = state;
    this.#markChanged();
    return true;
  }

  /** Compiles every schema and returns the tools that cannot be used, each with the reason. */
  check(): readonly { readonly tool: string; readonly error: ToolError }[] {
    const quarantined: { readonly tool: string; readonly error: ToolError }[] = [];
    for (const { qualifiedName: tool, quarantine: error } of this) if (error !== undefined) quarantined.push({ tool, error });
    return quarantined;
  }

  /** Every tool, toolset by toolset in the order they were added. */
  *[Symbol.iterator](): Iterator<RegisteredTool> {
    for (const entry of this.#names.entries.values()) for (const family of entry.families.values()) yield* family.tools;
  }

  toString(): string {
    return `Registry(${plural(this.#size, "tool")} in ${plural(this.#names.entries.size, "toolset")})`;
  }

  [INSPECT](): string {
    return this.toString();
  }

  #allowsOverloads(entry: ToolsetEntry): boolean {
    return entry.toolset.overloads ?? this.#overloads;
  }

  /** Makes an entry that is not yet part of the registry. */
  #makeEntry(toolset: Toolset): ToolsetEntry {
    checkToolset(toolset);
    return new ToolsetEntry(toolset, { settings: this.#settings, permission: this.#permission });
  }

  #prepare(parts: ToolsetParts): ToolsetEntry {
    const before = this.#names.entries.get(parts?.toolset?.name);
    const same = { settings: this.#settings, permission: this.#permission, overloads: this.#overloads, warn: this.#warn };
    return prepareToolset(parts, { ...same, before });
  }

  /** Makes a prepared entry part of the registry. */
  #addEntry(entry: ToolsetEntry): void {
    this.#names.addToolset(entry);
    for (const family of entry.families.values()) this.#publish(family, family.tools);
    this.#hasSequence ||= entry.toolset.engine?.order === "sequential";
    this.#hasFaults ||= entry.toolset.faults !== undefined;
    this.#remembersSessions ||= entry.toolset.engine?.openSession !== undefined;
  }

  /** Adds the new tools of a family to the names, the size and the search index. */
  #publish(family: ToolFamily, added: readonly RegisteredTool[]): void {
    this.#names.add(family);
    this.#size += added.length;
    if (this.#index !== undefined) for (const registered of added) this.#index.add(registered);
  }

  #remove(family: ToolFamily): void {
    this.#names.remove(family);
    this.#size -= family.tools.length;
    if (this.#index !== undefined) for (const registered of family.tools) this.#index.remove(registered);
  }

  #markChanged(): void {
    this.#version++;
    this.#listed = undefined;
  }
}

/** Returns the input of a call, or null if it is not JSON: such an input matches no overload better than another. */
function toJsonInput({ input = {} }: ToolCall): JsonValue {
  try {
    return copyJson(input ?? {}).value;
  } catch {
    return null;
  }
}
