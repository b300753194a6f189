/** Decides which modules of the package share a file: see docs/decisions/0275-fewer-files-at-a-start.md. */
import { join } from "node:path";
import type { ChunkingContext, CodeSplittingOptions } from "rolldown";

/** The entry that nearly every program imports. */
const MAIN = "index";
/**
 * Also loaded without the main entry, and then only with their own part of it. The last two are how every command starts; the first of them looks
 * at the version of Node, and on an old one nothing else can be loaded.
 */
const LIGHT = ["client/client", "public/schema", "engine/mcp", "cli/main", "cli/process-run"];
/**
 * Groups the modules of a bundle of `entries` (named below `src/`, without `.ts`) by the entries that import them: those of the main entry by
 * which of the light ones do, any other by which of all of them do, at once and late. A module that is only imported late is in no
 * group.
 */
export function chunksByEntries(root: string, entries: readonly string[]): CodeSplittingOptions {
  const names = new Map<string, string>();
  let keyOf: ((id: string) => string) | undefined;
  const name = (id: string, context: ChunkingContext): string | null => {
    keyOf ??= importers(root, entries, context);
    const key = keyOf(id);
    if (key === "") return null;
    const known = names.get(key) ?? `shared-${names.size + 1}`;
    names.set(key, known);
    return known;
  };
  // A group holds what its own modules import only where the same entries need it: no entry loads another's modules.
  return { includeDependenciesRecursively: false, groups: [{ name, debugName: "by entries" }] };
}

function importers(root: string, entries: readonly string[], context: ChunkingContext): (id: string) => string {
  const starts = [...new Set([...LIGHT, ...entries])];
  const closures = new Map([MAIN, ...starts].map((entry) => [entry, imported(join(root, `src/${entry}.ts`), context)]));
  const reached = (id: string, from: readonly string[]): string => from.filter((entry) => closures.get(entry)?.has(id) === true).join();
  const late = new Map(entries.map((entry) => [entry, importedLate(closures.get(entry) ?? new Set(), context)]));
  // Files of their own: the one that runs a command waits for it at its top level, and what the command loads late could wait for that file.
  const own = new Set(LIGHT.map((entry) => join(root, `src/${entry}.ts`)));
  const keyOfPart = (id: string): string => {
    const key = own.has(id) ? "" : reached(id, starts);
    return key === "" ? "" : `${key} late ${entries.filter((entry) => late.get(entry)?.has(id) === true).join()}`;
  };
  return (id) => (reached(id, [MAIN]) === "" ? keyOfPart(id) : reached(id, [MAIN, ...LIGHT]));
}

/** What the modules of an entry import late, with what that imports at once: it would bring the rest of its group with it. */
function importedLate(closure: ReadonlySet<string>, context: ChunkingContext): ReadonlySet<string> {
  const late = [...closure].flatMap((id) => context.getModuleInfo(id)?.dynamicallyImportedIds ?? []);
  return new Set(late.flatMap((id) => [...imported(id, context)]));
}

/** A module and all that it imports at once, by their paths. */
function imported(start: string, context: ChunkingContext): ReadonlySet<string> {
  const seen = new Set([start]);
  for (const id of seen) for (const next of context.getModuleInfo(id)?.importedIds ?? []) seen.add(next);
  return seen;
}
