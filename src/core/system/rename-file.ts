/** Renames a file to replace another that may be open elsewhere. */
import { rename } from "node:fs/promises";
import { systemErrorCode } from "../base/system-error-code.ts";
import type { Clock } from "../ports.ts";
import { systemPorts } from "./system-ports.ts";

const TRY_EVERY_MS = 20;
const MAX_TRIES = 50;
const IN_USE: ReadonlySet<string> = new Set(["EPERM", "EACCES", "EBUSY"]);

export interface RenameFileOptions {
  /** @default the platform of this process */
  readonly platform?: string;
  /** Renames the file. @default rename of the file system */
  readonly move?: () => void | Promise<void>;
  /** @default the system's clock, because other programs do not follow a virtual clock */
  readonly clock?: Clock;
}

/**
 * Renames a file. Windows does not replace a file that any program has open, and virus scanners, indexers and readers open every file for a moment:
 * on Windows it retries for a second before it throws.
 */
export async function renameFile(from: string, to: string, options: RenameFileOptions = {}): Promise<void> {
  const { platform = process.platform, move = () => rename(from, to), clock = systemPorts.clock } = options;
  for (let tries = 1; ; tries++) {
    try {
      return await move();
    } catch (thrown: unknown) {
      if (platform !== "win32" || tries >= MAX_TRIES || !IN_USE.has(systemErrorCode(thrown) ?? "")) throw thrown;
      await new Promise<void>((resolve) => void clock.timer(resolve, TRY_EVERY_MS));
    }
  }
}
