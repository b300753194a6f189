/** Handlers of the routes for artifacts, the files that answers refer to. */
import { artifactId } from "../../../core/artifact.ts";
import { ToolError } from "../../../core/error.ts";
import { acceptsBytes, bytesResponse } from "../../http/bytes-response.ts";
import type { Handlers } from "../services.ts";
import { refuseSessionKey } from "../sessions/session-ids.ts";

export const artifactHandlers = {
  async getArtifact({ runtime: { artifacts }, principal, request, params: { artifactId: asked } }) {
    refuseSessionKey(principal); // an artifact's id does not say which session it belongs to
    const id = artifactId(`artifact:${asked}`) ?? artifactId(asked);
    const artifact = id === undefined ? undefined : await artifacts?.get(id);
    if (id !== undefined && artifact !== undefined)
      return acceptsBytes(request) ? bytesResponse(request, { id, bytes: Buffer.from(artifact.data, "base64") }) : artifact;
    throw new ToolError("not_found", `There is no artifact ${JSON.stringify(asked.slice(0, 100))}.`, {
      hint:
        artifacts === undefined
          ? "This server keeps files in the results themselves."
          : "The results of calls contain the addresses of their artifacts.",
    });
  },
} satisfies Partial<Handlers>;
