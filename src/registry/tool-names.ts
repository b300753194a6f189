/** The toolsets and tools of a registry, by every name under which they can be called. */
import { DEFAULT_NAMESPACE, qualifiedName, splitName, type NameParts } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { hasHashSuffix, providerName, toQualifiedName } from "../wire/provider-name.ts";
import { BareNames } from "./bare-names.ts";
import { ConfusableNames, quoteWithCodePoints } from "./confusable-names.ts";
import { ambiguousToolError, hiddenToolError, missingToolError, missingToolsetError } from "./missing-tool-error.ts";
import { findNearNames } from "../core/base/near-names.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import type { ToolFamily, ToolsetEntry } from "./toolset-entry.ts";

const MAX_NEAR = 3;
/** Maximum number of tools whose names are all listed for an unknown name. */
const MAX_FEW = 10;
const NONE_GIVEN: ReadonlyMap<string, string> = new Map();

export class ToolNames {
  /** By name, in the order they were added. */
  readonly entries = new Map<string, ToolsetEntry>();
  /** By qualified name. */
  readonly families = new Map<string, ToolFamily>();
  readonly #bareNames = new BareNames();
  readonly #confusableTools = new ConfusableNames((name) => this.#bareNames.has(name));
  readonly #confusableToolsets = new ConfusableNames((name) => this.entries.has(name));
  readonly #warn: (message: string) => void;
  /** By the names with a hash suffix that providers are given; built at the first look-up of one. */
  #byHashedName: ReadonlyMap<string, ToolFamily> | undefined;

  /** @param warn called with names that look like other names */
  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  addToolset(entry: ToolsetEntry): void {
    const { name } = entry.toolset;
    const problem = this.#confusableToolsets.addAndCheck(name);
    if (problem !== undefined) this.#warn(`The toolset name ${quoteWithCodePoints(name)} ${problem}.`);
    this.entries.set(name, entry);
  }

  /** Adds a family under its names, unless it is known already. */
  add(family: ToolFamily): void {
    if (this.families.has(family.qualifiedName)) return;
    const problem = this.#confusableTools.addAndCheck(family.name);
    if (problem !== undefined) this.#warn(`The tool name ${quoteWithCodePoints(family.qualifiedName)} ${problem}.`);
    this.families.set(family.qualifiedName, family);
    this.#byHashedName = undefined;
    this.#bareNames.add(family.name, family);
  }

  remove(family: ToolFamily): void {
    family.entry.families.delete(family.name);
    this.families.delete(family.qualifiedName);
    this.#byHashedName = undefined;
    this.#bareNames.remove(family.name, family);
  }

  /** Finds a tool by its qualified name, or by a bare name in the namespace `default`. */
  findOwn(name: string): ToolFamily | undefined {
    if (typeof name !== "string") return undefined; // from a program without types
    return this.families.get(name) ?? this.families.get(qualifiedName(DEFAULT_NAMESPACE, name));
  }

  /** As `findOwn`, and also by a bare name that only one toolset has, by the name that providers are given, or with one colon instead of two. */
  find(name: string): ToolFamily | undefined {
    if (typeof name !== "string") return undefined;
    // a bare name that only one family has is found in any namespace, without constructing its name in `default`
    return this.families.get(name) ?? this.#bareNames.findUnique(name) ?? this.findOwn(name) ?? this.#findEncoded(name);
  }

  /** See `Registry.resolve`. */
  resolve(name: string): readonly RegisteredTool[] | ToolError {
    if (typeof name !== "string") return invalidNameError();
    const family = this.families.get(name) ?? this.#bareNames.findUnique(name);
    if (family === undefined) return this.#resolveShared(name);
    const { callable } = family;
    if (callable.length > 0 && family.entry.blocked === undefined) return callable;
    return findUnavailableError(family, name) ?? callable;
  }

  /** The tools that a name means within some namespaces; undefined if there are none, or if several toolsets have them. */
  resolveIn(name: string, namespaces: readonly string[]): readonly RegisteredTool[] | undefined {
    if (typeof name !== "string") return undefined; // from a program without types
    const all = this.resolve(name);
    if (!(all instanceof ToolError) && all.some(({ toolset }) => namespaces.includes(toolset.name))) return all;
    const found = namespaces.flatMap((namespace) => {
      const tools = this.families.has(qualifiedName(namespace, name)) ? this.resolve(qualifiedName(namespace, name)) : undefined;
      return tools === undefined || tools instanceof ToolError ? [] : [tools];
    });
    return found.length === 1 ? found[0] : undefined;
  }

  /** `not_found` with similar names. */
  createMissingError(name: string): ToolError {
    if (typeof name !== "string") return invalidNameError();
    const parts = splitName(name);
    const { namespace } = parts;
    const entry = namespace === undefined ? undefined : this.entries.get(namespace);
    // an engine lists its tools when it opens, and a toolset that could not be registered has none: its tools are unknown until then
    if (entry?.blocked !== undefined && (entry.toolset.engine !== undefined || entry.families.size === 0)) return entry.blocked;
    const bare = namespace === undefined ? this.#findNearBare(name) : [];
    const near = bare.length > 0 ? bare : this.#findNearQualified(name, parts);
    const unknownToolset = namespace === undefined || this.entries.has(namespace) ? undefined : namespace;
    return missingToolError(name, {
      unknownToolset,
      near,
      few: this.#listIfFew(),
      blocked: namespace === undefined ? this.#listBlocked() : [],
    });
  }

  /** Why the toolsets whose tools are unknown cannot be used: a bare name may be that of one of their tools. */
  #listBlocked(): readonly ToolError[] {
    const entries = [...this.entries.values()].filter(({ families }) => families.size === 0);
    return entries.flatMap(({ blocked }) => (blocked === undefined ? [] : [blocked]));
  }

  requireToolset(name: string): ToolsetEntry {
    const entry = this.entries.get(name);
    if (typeof name !== "string") throw invalidNameError();
    if (entry === undefined) throw missingToolsetError(name, findNearNames(name, this.entries.keys(), MAX_NEAR));
    return entry;
  }

  /** Finds a tool by its encoded name, exactly as `providerName` encodes it. */
  #findEncoded(name: string): ToolFamily | undefined {
    if (this.#bareNames.has(name)) return undefined;
    const decoded = toQualifiedName(name, NONE_GIVEN);
    const family = decoded === name ? undefined : this.families.get(decoded);
    if (family !== undefined) return providerName(decoded) === name ? family : undefined;
    if (name.includes(":")) return this.#findWithOneColon(name);
    return hasHashSuffix(name) ? (this.#byHashedName ??= this.#indexHashedNames()).get(name) : undefined;
  }

  /** Finds `io::read` by the name `io:read`, as other frameworks write it, if only one tool can be meant. */
  #findWithOneColon(name: string): ToolFamily | undefined {
    let found: ToolFamily | undefined;
    for (let at = name.indexOf(":"); at >= 0; at = name.indexOf(":", at + 1)) {
      const family = this.families.get(qualifiedName(name.slice(0, at), name.slice(at + 1)));
      if (family !== undefined && found !== undefined) return undefined;
      found ??= family;
    }
    return found;
  }

  #indexHashedNames(): ReadonlyMap<string, ToolFamily> {
    const byName = new Map<string, ToolFamily>();
    for (const family of this.families.values()) {
      const name = providerName(family.qualifiedName);
      if (hasHashSuffix(name) && !byName.has(name)) byName.set(name, family);
    }
    return byName;
  }

  /** Resolves a bare name that several toolsets have. Disabled toolsets and tools do not count, so that it may be unambiguous. */
  #resolveShared(name: string): readonly RegisteredTool[] | ToolError {
    const families = this.#bareNames.findAll(name);
    const [first] = families;
    if (first === undefined) {
      const encoded = this.#findEncoded(name);
      return encoded === undefined ? this.createMissingError(name) : this.resolve(encoded.qualifiedName);
    }
    const candidates = families.filter((family) => family.competesForBareName);
    const [candidate = first] = candidates;
    if (candidates.length > 1)
      return ambiguousToolError(
        name,
        candidates.map((family) => family.qualifiedName),
      );
    return findUnavailableError(candidate, name) ?? candidate.callable;
  }

  /** Similar names: bare for tools of `default`, qualified for all others, as a model was given them. */
  #findNearBare(name: string): readonly string[] {
    const near = findNearNames(name, this.#bareNames.names(), MAX_NEAR).flatMap((one) => {
      const families = this.#bareNames.findAll(one);
      const offered = families.filter((family) => family.isOffered);
      const isEnough = offered.length === 1 && families.filter((family) => family.competesForBareName).length === 1;
      return isEnough && offered[0]?.entry.toolset.name === DEFAULT_NAMESPACE ? [one] : offered.map((family) => family.qualifiedName);
    });
    return near.slice(0, MAX_NEAR);
  }

  /** The same tool name in other toolsets first, then similarly spelled names, in the toolset itself if it exists. */
  #findNearQualified(name: string, { namespace, name: bare }: NameParts): readonly string[] {
    const entry = namespace === undefined ? undefined : this.entries.get(namespace);
    const inOtherToolsets = this.#bareNames.findAll(bare);
    const alike =
      entry === undefined
        ? findNearNames(name, this.families.keys(), MAX_NEAR).map((one) => this.families.get(one))
        : findNearNames(bare, entry.families.keys(), MAX_NEAR).map((one) => entry.families.get(one));
    const near = new Set<string>();
    for (const family of [...inOtherToolsets, ...alike]) if (family?.isOffered === true) near.add(family.qualifiedName);
    return [...near].slice(0, MAX_NEAR);
  }

  #listIfFew(): readonly string[] | undefined {
    if (this.families.size > MAX_FEW) return undefined;
    return [...this.families.values()].filter((family) => family.isOffered).map((family) => family.qualifiedName);
  }
}

/** Why no tool of a family can be called. For a denied tool only the denial is reported, not whether it would work. */
function findUnavailableError(family: ToolFamily, name: string): ToolError | undefined {
  return family.denied === undefined ? family.blocked : hiddenToolError(name, family.denied);
}

function invalidNameError(): ToolError {
  return new ToolError("invalid_argument", "The name of a tool or toolset must be a string.");
}
