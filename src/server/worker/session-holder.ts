/** Opens the sessions that a worker takes: those of a server stay open for its requests, others are closed. */
import type { Ask } from "../../core/approvals/ask.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ResumeOptions } from "../../runtime/resume/resume-session.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";

export interface HolderOptions {
  readonly anyTools: true;
  /** Answers the questions of calls that are run again. @default the runtime's `ask` */
  readonly ask?: Ask;
}

/** Opens sessions for a worker, and closes them. */
export interface SessionHolder {
  /** Whether `use` closes the session before it resolves. */
  readonly closesSessions: boolean;
  /** Runs `work` in a session, which stays open meanwhile. @throws ToolError `not_found`, `resource_busy`, as a rejection */
  use(id: string, work: (session: RuntimeSession) => Promise<void>, options: HolderOptions): Promise<void>;
}

/** Resumes sessions in the runtime, and closes each as soon as its work is done. */
export function createSessionHolder(runtime: Runtime, { allow }: Pick<ResumeOptions, "allow">): SessionHolder {
  return {
    closesSessions: true,
    async use(id, work) {
      const session = await runtime.resume(id, omitUndefined({ allow }));
      try {
        await work(session);
      } finally {
        if (!session.closed) await session.close();
      }
    },
  };
}
