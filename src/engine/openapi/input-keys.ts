/** Which property of a tool's input stands for which parameter or field of the body. */
import { hash } from "node:crypto";

export interface Named {
  /** On the wire. */
  readonly name: string;
  /** `path`, `query`, `header`, `cookie` or `body`. */
  readonly in: string;
}

/** What every provider allows as the name of a property. */
const ALLOWED = /^[A-Za-z0-9_.-]{1,64}$/u;
const PLACES: readonly string[] = ["path", "query", "header", "cookie", "body"];

/**
 * A key for each, all different, in the order given: a pure function of the operation.
 *
 * The name itself where that can be; of several with one name, the first by place (path, query, header, cookie, body) keeps it and the
 * others are called `name__query`, `name__body`. Characters that providers refuse become `_`.
 */
export function inputKeys(all: readonly Named[]): readonly string[] {
  const keys = new Map<Named, string>();
  const taken = new Set<string>();
  const inOrder = all.toSorted((one, other) => PLACES.indexOf(one.in) - PLACES.indexOf(other.in));
  // Names that are fit as they are come first, so that one that is made fit never takes theirs.
  for (const isFitting of [true, false]) {
    for (const named of inOrder) {
      if (isAllowed(named.name) !== isFitting) continue;
      const key = isFitting && !taken.has(named.name) ? named.name : freeKey(named, taken);
      taken.add(key);
      keys.set(named, key);
    }
  }
  return all.map((named) => keys.get(named) ?? named.name);
}

function isAllowed(name: string): boolean {
  return ALLOWED.test(name) && name !== "__proto__";
}

function freeKey({ name, in: place }: Named, taken: ReadonlySet<string>): string {
  const fit = isAllowed(name) ? name : madeFit(name);
  const digest = hash("sha256", JSON.stringify([place, name])).slice(0, 8);
  const candidates = [...(fit.length <= 64 ? [fit] : []), `${fit.slice(0, 56)}__${place}`, `${fit.slice(0, 54)}__${digest}`];
  return candidates.find((candidate) => !taken.has(candidate)) ?? candidates.join("_");
}

/** `expand[]` is `expand`, `filter[name]` is `filter_name`. */
function madeFit(name: string): string {
  const fit = name
    .slice(0, 200)
    .replaceAll(/[^A-Za-z0-9_.-]+/gu, "_")
    .replace(/(?<=.)_$/u, "");
  return isAllowed(fit) || fit.length > 64 ? fit : "value";
}
