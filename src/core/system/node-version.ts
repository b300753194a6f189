/** Checks whether this Node can run Haft. Imports nothing, so that it works on a Node on which the rest fails to load. */

const MIN_NODE_VERSION = [22, 13] as const;

/**
 * In Cloudflare Workers some functions of Node exist, but throw. @see https://developers.cloudflare.com/workers/runtime-apis/nodejs/ (November 2026)
 */
export const IS_CLOUDFLARE_WORKER = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/**
 * Returns why this Node cannot run Haft, and which version can; undefined if it can, and for other runtimes. @param versions as `process.versions`
 */
export function findNodeVersionProblem(versions: Readonly<Record<string, string | undefined>>): string | undefined {
  const { node, bun, deno } = versions;
  if (node === undefined || bun !== undefined || deno !== undefined) return undefined;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const isOld = major < MIN_NODE_VERSION[0] || (major === MIN_NODE_VERSION[0] && minor < MIN_NODE_VERSION[1]);
  return isOld
    ? `haft needs Node ${MIN_NODE_VERSION.join(".")} or newer; this is Node ${node}. Install a newer one: https://nodejs.org.`
    : undefined;
}
