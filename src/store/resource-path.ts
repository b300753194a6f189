/** The resources that lie around another one, as `isInside` of core/effects.ts sees it. */

/**
 * Every key that a resource is strictly inside of: `file:/a/b` is inside `file:`, `file:/` and `file:/a`.
 *
 * Whether anything goes by such a key is another matter.
 */
export function outerResources(resource: string): readonly string[] {
  const outer: string[] = [];
  for (let slash = resource.indexOf("/"); slash >= 0; slash = resource.indexOf("/", slash + 1)) {
    if (resource[slash - 1] !== "/") outer.push(resource.slice(0, slash));
    if (slash + 1 < resource.length) outer.push(resource.slice(0, slash + 1));
  }
  return outer;
}
