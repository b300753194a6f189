/** Refuses requests because of their sender or their contents. */
import { ToolError } from "../../../core/error.ts";
import type { Principal, Scope } from "../../auth/principal.ts";
import type { ServerAccess } from "../../auth/server-access.ts";
import type { HeadRequest, RequestHead } from "../../http/request-head.ts";
import { HttpError } from "../../http/http-error.ts";
import type { ApiServices } from "../services.ts";

/** A request that authentication denied, and recorded. */
class Denied extends HttpError {}

/** Authenticates a request. @param scope the scope it needs; undefined accepts every known sender. @throws HttpError 401 and 403, as a rejection */
export async function authenticate(access: ServerAccess, request: Request | HeadRequest, scope: Scope | undefined): Promise<Principal> {
  const { principal, denial } = await access.admitHead(request, { scope });
  if (denial === undefined) return principal;
  const { status, reason, hint, challenge } = denial;
  throw new Denied(status, "permission_denied", reason, { hint, headers: { "www-authenticate": challenge } });
}

interface RefusedRequest {
  readonly principal: Principal;
  readonly names?: readonly string[];
}

/** The principal and the tools of refused requests, by error. */
const REFUSED_REQUESTS = new WeakMap<object, { readonly principal: string; readonly toolNames: readonly string[] }>();

/** Makes the error of a refused request, and remembers the principal and the tools for the audit. */
export function toRefusal(
  thrown: unknown,
  { principal, names = [] }: RefusedRequest,
  { access, runtime }: Pick<ApiServices, "access" | "runtime">,
): ToolError {
  const error = ToolError.fromUnknown(thrown);
  const visible = access.visibilityOf(principal);
  const toolNames = names.map((name) => {
    const qualifiedName = runtime.registry.get(name)?.qualifiedName;
    return qualifiedName === undefined || visible?.permits(qualifiedName) === false ? name : qualifiedName;
  });
  REFUSED_REQUESTS.set(error, { principal: principal.id, toolNames });
  return error;
}

/** Records a request that is answered with 403 or 429. */
export function recordRefusal(
  access: ServerAccess,
  {
    request,
    status,
    thrown,
    principal,
  }: { readonly request: RequestHead; readonly status: number; readonly thrown: unknown; readonly principal?: string | undefined },
): void {
  if ((status !== 403 && status !== 429) || thrown instanceof Denied) return;
  const error = ToolError.fromUnknown(thrown);
  const known = REFUSED_REQUESTS.get(error);
  const toolNames = known === undefined || known.toolNames.length === 0 ? undefined : known.toolNames;
  access.noteRefusal({ request, status, reason: error.message, principal: principal ?? known?.principal, toolNames });
}
