/** Operations written by hand, and a way to send them without the engine around it. */
import type { JsonObject } from "../../../src/core/base/json.ts";
import { buildRequest } from "../../../src/engine/rest/build-request.ts";
import type { HttpOperation, HttpParameter } from "../../../src/engine/rest/http-operation.ts";
import { httpClient } from "../../../src/net/http-client.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import type { RecordingServer, ReceivedRequest } from "./recording-server.ts";

export function operation(fields: Partial<HttpOperation> = {}): HttpOperation {
  return { method: "GET", path: "/items", parameters: [], accepts: [], ...fields };
}

/** A parameter called `color`, in the style that its place has by default. */
export function parameter(fields: Partial<HttpParameter> & Pick<HttpParameter, "in">): HttpParameter {
  const style = fields.in === "path" || fields.in === "header" ? "simple" : "form";
  return { name: "color", key: "color", required: false, style, explode: style === "form", ...fields };
}

/** What comes on the wire of an operation with this input. */
export async function sent(
  server: RecordingServer,
  { operation: sending, input }: { readonly operation: HttpOperation; readonly input: JsonObject },
): Promise<ReceivedRequest> {
  const client = httpClient({ allowPrivate: [server.host] }, systemPorts);
  try {
    const { url, headers, cookies, body } = buildRequest(sending, input, server.url);
    const cookie = cookies.length === 0 ? [] : [["cookie", cookies.join("; ")] as const];
    const response = await client.request({
      method: sending.method,
      url,
      headers: [...headers.values(), ...cookie],
      body,
      signal: AbortSignal.timeout(5_000),
    });
    await response.bytes();
  } finally {
    client.close();
  }
  const last = server.received.at(-1);
  if (last === undefined) throw new Error("Nothing came.");
  return last;
}
