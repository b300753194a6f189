/** A folder for files whose writing is timed: on a disk, not in memory, and gone afterwards. */
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

/** What Linux calls file systems that are memory: tmpfs and ramfs. */
const IN_MEMORY = new Set([0x01021994, 0x858458f6]);

export async function inFolderOnDisk<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const places = [tmpdir(), fileURLToPath(new URL(".", import.meta.url))];
  const place = places.find((candidate) => !IN_MEMORY.has(statfsSync(candidate).type));
  if (place === undefined) throw new Error(`No disk: ${places.join(" and ")} are in memory.`);
  const folder = mkdtempSync(`${place}/haft-bench-`);
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const stop = (): void => process.exit(130);
  process.once("exit", remove).once("SIGINT", stop);
  try {
    return await work(folder);
  } finally {
    process.off("exit", remove).off("SIGINT", stop);
    remove();
  }
}
