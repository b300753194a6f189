/** The handlers of the MCP servers behind this one that users log in to. */
import { nearNames } from "../../core/base/near-names.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { untilAborted } from "../../core/base/until-aborted.ts";
import { ToolError } from "../../core/error.ts";
import { within } from "../../processes/pause.ts";
import type { AnswerOf } from "../api.ts";
import type { ApiRequest } from "./api-request.ts";
import type { ApiServices, Handlers } from "./services.ts";
import type { UpstreamLogins } from "./upstream-logins.ts";

/** So long may an authorization server take to be found: the list must not wait for one that is gone. */
const BEGIN_MS = 5_000;

export const upstreamHandlers: Handlers<"listUpstreams" | "logOutOfUpstream"> = {
  async listUpstreams(request, services) {
    const upstreams = (await upstreamsOf(request, services)).map(async ({ server: name, loggedIn, endsAt: until }) =>
      loggedIn
        ? { name, state: "logged-in" as const, ...omitUndefined({ until }) }
        : { name, state: "login-wanted" as const, ...(await loginTo(name, request, services)) },
    );
    return { upstreams: await Promise.all(upstreams) };
  },

  async logOutOfUpstream(request, services) {
    const { upstreamName: name } = request.params;
    const names = (await upstreamsOf(request, services)).map(({ server }) => server);
    if (!names.includes(name)) {
      const [near] = nearNames(name, names);
      throw new ToolError("not_found", `There is no server ${JSON.stringify(name.slice(0, 200))} that users log in to.`, {
        hint: near === undefined ? "GET /v1/upstreams lists them." : `Did you mean ${JSON.stringify(near)}?`,
      });
    }
    await services.logins?.logout(name, request.principal.id);
    return new Response(null, { status: 204 });
  },
};

type Sender = Pick<ApiRequest, "principal" | "runtime" | "signal">;

/** Those that have a tool which the sender may use: the others are not there for them. */
async function upstreamsOf({ principal, runtime }: Sender, { logins, access }: ApiServices): ReturnType<UpstreamLogins["list"]> {
  const visibility = access.visibilityOf(principal);
  const listed = (await logins?.list(principal.id)) ?? [];
  if (visibility === undefined) return listed;
  return listed.filter(({ server }) => runtime.registry.names(server).some((name) => visibility.permits(name)));
}

type Upstream = AnswerOf<"listUpstreams">["upstreams"][number];

async function loginTo(
  name: string,
  { principal, signal: outer }: Sender,
  { logins, clock }: ApiServices,
): Promise<Pick<Upstream, "address" | "problem">> {
  try {
    const address = await within({ clock, limitMs: BEGIN_MS, outer }, (signal) =>
      untilAborted(logins?.begin(name, principal.id) ?? Promise.resolve(undefined), signal),
    );
    return omitUndefined({ address });
  } catch (thrown: unknown) {
    return { problem: ToolError.fromUnknown(thrown, "unavailable").message };
  }
}
