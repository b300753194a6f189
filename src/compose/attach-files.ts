/** Puts the files that a conversation has as artifacts into a request. */
import { describeThrown } from "../core/error.ts";
import type { ModelRequest } from "../core/model.ts";
import { artifactsOf } from "../runtime/artifacts-of.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { attachArtifacts } from "../session/attach-artifacts.ts";

/** The request itself where no artifacts are kept. A model is asked without files that cannot be read. */
export async function attachFiles(request: ModelRequest, session: RuntimeSession): Promise<ModelRequest> {
  const artifacts = artifactsOf(session);
  if (artifacts === undefined) return request;
  try {
    return { ...request, messages: await attachArtifacts(request.messages, artifacts) };
  } catch (thrown: unknown) {
    session.ports.log.warn(`The model is shown no artifacts: ${describeThrown(thrown)}`);
    return request;
  }
}
