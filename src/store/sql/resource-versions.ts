/** Versions of resources, which tell whether a value read from resources is out of date: two counters for each resource, and sums of them. */

/** How often a resource was written (`self`), and how often it or a resource inside it was written (`below`). */
export interface Generation {
  readonly self: number;
  readonly below: number;
}

/** The resources whose generations determine the versions of the given ones. */
export function withOuterResources(resources: readonly string[]): ReadonlySet<string> {
  return new Set(resources.flatMap((resource) => [resource, ...outerResources(resource)]));
}

/**
 * The version of a resource: its own `below`, plus `self` of every resource around it. It increases with every write of the resource, of a resource
 * inside it or of one around it, and with no other write.
 */
export function computeVersion(resource: string, generations: ReadonlyMap<string, Generation>): number {
  const inside = generations.get(resource)?.below ?? 0;
  return outerResources(resource).reduce((sum, outer) => sum + (generations.get(outer)?.self ?? 0), inside);
}

/** The amounts that one write of these resources, each counted once, adds to the generations. */
export function generationsOfWrite(resources: readonly string[]): ReadonlyMap<string, Generation> {
  const added = new Map<string, Generation>();
  const add = (resource: string, self: number): void => {
    const before = added.get(resource) ?? { self: 0, below: 0 };
    added.set(resource, { self: before.self + self, below: before.below + 1 });
  };
  for (const resource of new Set(resources)) {
    add(resource, 1);
    for (const outer of outerResources(resource)) add(outer, 0);
  }
  return added;
}

/** Every key that a resource is strictly inside of: `file:/a/b` is inside `file:`, `file:/` and `file:/a`. They need not exist. */
export function outerResources(resource: string): readonly string[] {
  const outer: string[] = [];
  for (let slash = resource.indexOf("/"); slash >= 0; slash = resource.indexOf("/", slash + 1)) {
    if (resource[slash - 1] !== "/") outer.push(resource.slice(0, slash));
    if (slash + 1 < resource.length) outer.push(resource.slice(0, slash + 1));
  }
  return outer;
}
