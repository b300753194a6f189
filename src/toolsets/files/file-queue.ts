/** One change of a file at a time, whatever spelling of its path a call used. */

const lastOf = new Map<string, Promise<void>>();

/**
 * Runs `work` when everything queued before for the same real path has ended.
 *
 * The runtime's locks know paths as they are spelled; two spellings that meet through a link meet here.
 * Holds for all toolsets of the process.
 */
export async function inTurn<T>(realPath: string, work: () => Promise<T>): Promise<T> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const before = lastOf.get(realPath);
  lastOf.set(realPath, ended);
  try {
    await before;
    return await work();
  } finally {
    end();
    if (lastOf.get(realPath) === ended) lastOf.delete(realPath);
  }
}
