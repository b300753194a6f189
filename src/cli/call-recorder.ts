/** Writes the calls of a run into a file, so that they can be replayed. */
import { lstat } from "node:fs/promises";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { writeRecording } from "../core/recording.ts";
import { systemPorts } from "../core/system-ports.ts";
import type { CommandContext } from "./command.ts";
import { plural, safeText } from "./terminal-text.ts";
import { writeFileWhole } from "./write-file.ts";

/** Longest time that writing may take after the program was told to stop. */
const MAX_WRITE_MS = 10_000;

export class CallRecorder {
  readonly #path: string;
  readonly #force: boolean;
  readonly #events: SessionEvent[] = [];

  private constructor(path: string, force: boolean) {
    this.#path = path;
    this.#force = force;
  }

  /** @throws ToolError `invalid_argument` for a file that is there already, before anything runs */
  static async begin(path: string, { force }: { readonly force: boolean }): Promise<CallRecorder> {
    const isThere = await lstat(path).then(
      () => true,
      () => false,
    );
    if (isThere && !force)
      throw new ToolError("invalid_argument", `${path} is there already; nothing was run.`, {
        hint: "Replace it with --force, or take another name.",
      });
    return new CallRecorder(path, force);
  }

  readonly add = (events: readonly SessionEvent[]): void => {
    this.#events.push(...events);
  };

  /** Writes the file, also when the program is being stopped; resolves to what is to be said of it. */
  async save(): Promise<string> {
    const [first] = this.#events;
    const header = { sessionId: first?.sessionId ?? "none", exportedAt: systemPorts.clock.wallTime() };
    await writeFileWhole(this.#path, writeRecording(this.#events, header), {
      force: this.#force,
      signal: AbortSignal.timeout(MAX_WRITE_MS),
    });
    return `recorded ${plural(this.#events.length / 2, "call")} in ${safeText(this.#path)}`;
  }
}

/** Does the work and writes what was recorded of it, however the work ends. */
export async function recordedTo<T>({ err }: CommandContext, recorder: CallRecorder | undefined, work: () => Promise<T>): Promise<T> {
  if (recorder === undefined) return await work();
  try {
    return await work();
  } finally {
    err.write(`${await recorder.save()}\n`);
  }
}
