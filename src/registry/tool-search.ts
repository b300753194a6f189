/** Searches a registry's tools, with filters that must all match and a text that ranks. */
import { quoteValue, describeValueType } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { TOOL_CATEGORIES, type ToolCategory } from "../core/tool.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/** The query of a search for tools. */
export interface SearchQuery {
  /** Part of the unqualified name, case-insensitive. */
  readonly nameContains?: string;
  /** The tool has one of these tags, or all of them with `matchAllTags`. Empty = no filter. */
  readonly tags?: readonly string[];
  /** @default false */
  readonly matchAllTags?: boolean;
  /** A tool without a category counts as `SAFE_CHAIN`. */
  readonly category?: ToolCategory;
  /** Words to look for in names, titles, tags, descriptions and parameters. One match is enough; more and rarer words rank higher. */
  readonly text?: string;
  /** Whether to include tools that the permission rules deny, for people who review a configuration. @default false */
  readonly denied?: boolean;
  /** Maximum number of tools. Integer ≥ 1. @default all */
  readonly limit?: number;
}

const FIELDS: OptionNames<SearchQuery> = {
  nameContains: "string",
  tags: "strings",
  matchAllTags: "boolean",
  category: true,
  text: "string",
  denied: "boolean",
  limit: true,
};

export interface Searchable {
  /** All tools that may be found, sorted by qualified name. */
  list(): readonly RegisteredTool[];
  /** Whether a tool may be found. */
  isOffered(registered: RegisteredTool): boolean;
  /** Calls `take` for every tool with a word of the text, in no particular order. */
  rank(text: string, take: (registered: RegisteredTool, score: number) => void): void;
}

/**
 * Finds the tools that pass every filter, sorted by qualified name; with `text`, best matches first, and equal ones by qualified name.
 *
 * @throws ToolError `invalid_argument` for a limit that is not an integer ≥ 1, and for an unknown category
 */
export function searchTools(query: SearchQuery, tools: Searchable): readonly RegisteredTool[] {
  if (typeof query !== "object" || query === null)
    throw new ToolError("invalid_argument", 'search() takes a query, such as { text: "send mail", limit: 5 }.');
  checkKnownKeys(query, FIELDS, "search()");
  const limit = checkLimit(query.limit);
  checkCategory(query.category);
  const passes = makeFilter(query);
  if (query.text === undefined || query.text === "") return takeFirst(tools.list(), limit, passes);
  const ranking = new Ranking(limit);
  tools.rank(query.text, (registered, score) => {
    if (ranking.canAdd(score) && tools.isOffered(registered) && passes(registered)) ranking.add({ registered, score });
  });
  return ranking.best().map(({ registered }) => registered);
}

function checkLimit(limit: number = Infinity): number {
  if (limit !== Infinity && (!Number.isInteger(limit) || limit < 1)) {
    throw new ToolError("invalid_argument", `limit of a search is ${quoteValue(limit)}; it takes an integer from 1.`);
  }
  return limit;
}

function checkCategory(category: unknown): void {
  if (category === undefined || TOOL_CATEGORIES.some((known) => known === category)) return;
  throw new ToolError(
    "invalid_argument",
    `category of a search is ${typeof category === "string" ? JSON.stringify(category) : describeValueType(category)}; it is one of ${TOOL_CATEGORIES.join(", ")}.`,
  );
}

function makeFilter(query: SearchQuery): (registered: RegisteredTool) => boolean {
  const part = query.nameContains?.toLowerCase() ?? "";
  const wanted = query.tags ?? [];
  const { category, matchAllTags = false } = query;
  return ({ tool, category: own }) => {
    if (category !== undefined && own !== category) return false;
    if (wanted.length > 0) {
      const tags = tool.tags ?? [];
      if (!(matchAllTags ? wanted.every((tag) => tags.includes(tag)) : wanted.some((tag) => tags.includes(tag)))) return false;
    }
    return part === "" || tool.name.toLowerCase().includes(part);
  };
}

function takeFirst(
  tools: readonly RegisteredTool[],
  limit: number,
  passes: (registered: RegisteredTool) => boolean,
): readonly RegisteredTool[] {
  const found: RegisteredTool[] = [];
  for (const registered of tools) {
    if (!passes(registered)) continue;
    found.push(registered);
    if (found.length >= limit) break;
  }
  return found;
}

interface RankedTool {
  readonly registered: RegisteredTool;
  readonly score: number;
}

/** Maximum limit for which the results are kept sorted during the search; above it, sorting all at the end costs less. */
const MAX_INSERTED = 256;

/** Keeps the best results: a common word may match a hundred thousand tools, of which ten are wanted. */
class Ranking {
  readonly #limit: number;
  readonly #inserts: boolean;
  readonly #ranked: RankedTool[] = [];

  constructor(limit: number) {
    this.#limit = limit;
    this.#inserts = limit <= MAX_INSERTED;
  }

  /** False if this score can no longer be among the best. */
  canAdd(score: number): boolean {
    const last = this.#inserts ? this.#ranked[this.#limit - 1] : undefined;
    return last === undefined || score >= last.score;
  }

  add(candidate: RankedTool): void {
    if (!this.#inserts) {
      this.#ranked.push(candidate);
      return;
    }
    const last = this.#ranked[this.#limit - 1];
    if (last !== undefined) {
      if (compare(candidate, last) > 0) return;
      this.#ranked.pop();
    }
    this.#ranked.splice(this.#placeOf(candidate), 0, candidate);
  }

  best(): readonly RankedTool[] {
    return this.#inserts ? this.#ranked : this.#ranked.sort(compare).slice(0, this.#limit);
  }

  #placeOf(candidate: RankedTool): number {
    let from = 0;
    let to = this.#ranked.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const other = this.#ranked[middle];
      if (other !== undefined && compare(candidate, other) < 0) to = middle;
      else from = middle + 1;
    }
    return from;
  }
}

function compare(one: RankedTool, other: RankedTool): number {
  if (one.score !== other.score) return other.score - one.score;
  return compareNames(one.registered, other.registered);
}

/** The order of every listing: by qualified name, in UTF-16 code units. */
export function compareNames(one: RegisteredTool, other: RegisteredTool): number {
  if (one.qualifiedName === other.qualifiedName) return 0;
  return one.qualifiedName < other.qualifiedName ? -1 : 1;
}
