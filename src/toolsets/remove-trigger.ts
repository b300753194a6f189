/** Removes a trigger for a model, and says whether it stays away. */
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import type { Triggers } from "../triggers/triggers.ts";

/** Resolves to the answer for the model; undefined if the session has no trigger with this id. */
export async function removeTrigger(triggers: Triggers, session: RuntimeSession, id: string): Promise<string | undefined> {
  const isDeclared = session.trigger(id)?.declared === true;
  if (!(await triggers.of(session).remove(id))) return undefined;
  const again = isDeclared ? " The program declares it: as long as it does, it is added again at the next start." : "";
  return `The trigger ${id} is removed.${again}`;
}
