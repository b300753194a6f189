/** Tells whether this Node can run Haft. Imports nothing, so that it can be asked on a Node on which the rest fails. */

const LEAST = [22, 13] as const;

/** What to say of a Node that is too old, such as `v20.9.0`; undefined for any other. */
export function tooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.replace("v", "").split(".").map(Number);
  const isOld = major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1]);
  return isOld ? `haft needs Node ${LEAST.join(".")} or newer; this is ${version}.` : undefined;
}
