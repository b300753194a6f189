/** The place where the files of a session are kept. */
import type { ArtifactStore } from "../core/artifact.ts";
import { partsOf, type RuntimeSession } from "./runtime-session.ts";

/** Where the files of a session's answers and messages are kept: `createRuntime({ artifacts })`. Undefined where they are part of its log, or left out. */
export function artifactsOf(session: RuntimeSession): ArtifactStore | undefined {
  const { artifacts } = partsOf(session);
  return artifacts === false ? undefined : artifacts;
}
