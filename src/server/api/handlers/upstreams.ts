/** Handlers of the routes for upstream MCP servers that users log in to. */
import { didYouMean } from "../../../core/base/near-names.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { rejectOnAbort } from "../../../core/base/reject-on-abort.ts";
import { ToolError } from "../../../core/error.ts";
import type { ApiRequest } from "../requests/api-request.ts";
import type { ApiServices, Handlers } from "../services.ts";
import type { UpstreamLogins } from "../upstream-logins.ts";
import { noContent } from "./responses.ts";

export const upstreamHandlers = {
  async listUpstreams(request, services) {
    return { upstreams: (await upstreamsOf(request, services)).map((upstream) => ({ name: upstream.server, ...stateOf(upstream) })) };
  },

  async logInToUpstream(request, services) {
    const { principal, signal } = request;
    const { logins } = services;
    const upstream = await upstreamOf(request, services);
    if (upstream.loggedIn || logins === undefined) return stateOf(upstream);
    return { ...stateOf(upstream), address: await rejectOnAbort(logins.begin(upstream.server, principal.id), signal) };
  },

  async logOutOfUpstream(request, services) {
    const { server } = await upstreamOf(request, services);
    await services.logins?.logout(server, request.principal.id);
    return noContent();
  },
} satisfies Partial<Handlers>;

function stateOf({ loggedIn, endsAt: until }: Upstream): { readonly state: "logged-in" | "login-wanted"; readonly until?: number } {
  return { state: loggedIn ? "logged-in" : "login-wanted", ...omitUndefined({ until }) };
}

type UpstreamRequest = Sender & { readonly params: { readonly upstreamName: string } };

/** @throws ToolError `not_found`, as a rejection */
async function upstreamOf(request: UpstreamRequest, services: ApiServices): Promise<Upstream> {
  const { upstreamName: name } = request.params;
  const upstreams = await upstreamsOf(request, services);
  const found = upstreams.find(({ server }) => server === name);
  if (found !== undefined) return found;
  const known = upstreams.map(({ server }) => server);
  throw new ToolError("not_found", `There is no server ${JSON.stringify(name.slice(0, 200))} that users log in to.`, {
    hint: didYouMean(name, known) ?? "GET /v1/upstreams lists them.",
  });
}

type Sender = Pick<ApiRequest, "principal" | "runtime" | "signal">;
type Upstream = Awaited<ReturnType<UpstreamLogins["list"]>>[number];

/** The upstream servers with a tool that the principal may use; the others are hidden. */
async function upstreamsOf({ principal, runtime }: Sender, { logins, access }: ApiServices): ReturnType<UpstreamLogins["list"]> {
  const visibility = access.visibilityOf(principal);
  const listed = (await logins?.list(principal.id)) ?? [];
  if (visibility === undefined) return listed;
  return listed.filter(({ server }) => runtime.registry.names(server).some((name) => visibility.permits(name)));
}
