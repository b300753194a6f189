/** The path below which a server is reached, such as `/haft` of `https://app.example/haft/`. */

/** Characters that mean the same in addresses, patterns and pages: none that is escaped, and no dot at the beginning of a part. */
const BASE_PATH = /^(?:\/[\w~-][\w.~-]*)+$/u;

/** Why a text cannot be one, as the end of a sentence; undefined for one that can. */
export function basePathFault(text: string): string | undefined {
  if (BASE_PATH.test(text)) return undefined;
  return 'must be a path such as "/haft" or "/tools/haft": it begins with a slash and does not end with one, and its parts have letters, digits, "-", "_", "~" and dots within. Leave it out for the root of a host.';
}

/** The target of a request below the path, as at the root; a target that does not begin with the path is returned as it is. */
export function withoutBasePath(target: string, basePath: string): string {
  if (!target.startsWith(basePath)) return target;
  const rest = target.slice(basePath.length);
  if (rest.startsWith("/")) return rest;
  return rest === "" || rest.startsWith("?") ? `/${rest}` : target;
}
