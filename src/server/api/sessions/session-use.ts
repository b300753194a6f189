/** Options of a request that uses a session, and the resume that it may share with others. */
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";

export interface UseOptions {
  readonly create?: boolean;
  readonly anyTools?: boolean;
  readonly leavesCalls?: boolean;
}

/** A session that is being resumed, for the request that asked for it first. */
export interface Resuming extends UseOptions {
  readonly session: Promise<RuntimeSession>;
}

/** Whether another request may have what the resume finds, its error included: the resume tries all that the request may. */
export function allows({ create, anyTools }: Resuming, wanted: UseOptions): boolean {
  return (create === true || wanted.create !== true) && (anyTools === true || wanted.anyTools !== true);
}
