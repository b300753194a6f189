/** The sessions, calls and questions that the examples of the document are about. */
import { openServerAccess, staticToken, type ServerAccess } from "haft/server";
import { artifactOf } from "../../../src/core/artifact.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { TOKEN, type ApiServer } from "./api-server.ts";

export function authWithKeys(): Promise<ServerAccess> {
  return openServerAccess({ access: memoryStore().access, others: [staticToken({ token: TOKEN })] }, systemPorts);
}

/** Those that come after others have used up what they are about. */
export const MAY_BE_GONE: Readonly<Record<string, number>> = {
  sendToJob: 400,
  removeTrigger: 404,
  deleteSession: 409,
  revokeApprovalRule: 404,
  logInToUpstream: 404, // users of this server log in to no other
  logOutOfUpstream: 404,
};

export interface Facts {
  /** In place of what an example cannot know. */
  readonly values: Readonly<Record<string, string>>;
  readonly recording: string;
  readonly digest: string;
}

/** The value of a parameter: that of the scene, or the example's. */
export function valueOf({ values }: Facts, operationId: string, name: string, example: unknown): string {
  const isOfApproval = name === "callId" && /^(decide|get|preview)Approval$/u.test(operationId);
  return values[isOfApproval ? "approvalId" : name] ?? String(example);
}

/** What the examples of the document are about. */
export async function setTheScene(api: ApiServer): Promise<Facts> {
  const artifact = artifactOf("text/plain", Buffer.from("kept"));
  await api.runtime.artifacts?.put({ artifact, at: 1 });
  await api.ask("POST", "/v1/sessions", { body: { id: "travel" } });
  const add = { name: "notes::add", input: { text: "Buy milk" } };
  const { json } = await api.ask("POST", "/v1/sessions/travel/execute", { body: { calls: [add] } });
  await api.ask("POST", "/v1/sessions", { body: { id: "still" } });
  await api.ask("POST", "/v1/sessions/still/fork", { body: { id: "travel-2" } });
  await api.ask("POST", "/v1/sessions/travel/fork", { body: { id: "travel-3" } });
  await api.ask("POST", "/v1/sessions/travel/fork", { body: { id: "travel-4" } });
  const { json: job } = await api.ask("POST", "/v1/sessions/travel/execute", { body: { calls: [{ name: "notes::talk" }] } });
  const { json: submitted } = await api.ask("POST", "/v1/sessions/desk/execute", {
    body: { calls: [{ name: "notes::erase" }], waitMs: 0 },
  });
  const approval = await waitingApproval(api);
  const { json: key } = await api.ask("POST", "/v1/sessions/travel/keys", { body: { name: "page", scopes: ["read"] } });
  const { text: recording } = await api.ask("GET", "/v1/sessions/travel/recording");
  return {
    recording,
    digest: approval.digest,
    values: {
      artifactId: artifact.id,
      callId: json.results[0].callId,
      jobId: job.results[0].callId,
      submissionId: submitted.submissionId,
      keyId: key.id,
      approvalId: approval.callId,
    },
  };
}

async function waitingApproval(api: ApiServer): Promise<{ readonly callId: string; readonly digest: string }> {
  for (;;) {
    const { json } = await api.ask("GET", "/v1/approvals");
    if (json.approvals.length > 0) return json.approvals[0];
  }
}
