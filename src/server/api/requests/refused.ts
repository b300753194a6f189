/** Requests that are refused: by who sends them, or for what they do. */
import { ToolError } from "../../../core/error.ts";
import type { Principal, Scope } from "../../auth/principal.ts";
import type { ServerAccess } from "../../auth/server-access.ts";
import type { HeadRequest, RequestHead } from "../../http/request-head.ts";
import { HttpError } from "../../http/http-error.ts";

/** A request that is not let in; access has kept it already. */
class Denied extends HttpError {}

/** The sender of a request that has the scope; without one, any sender that is known. @throws HttpError 401 and 403. By rejecting */
export async function admitted(access: ServerAccess, request: Request | HeadRequest, scope: Scope | undefined): Promise<Principal> {
  const { principal, denial } = await access.admitHead(request, { scope });
  if (denial === undefined) return principal;
  const { status, reason, hint, challenge } = denial;
  throw new Denied(status, "permission_denied", reason, { hint, headers: { "www-authenticate": challenge } });
}

/** Keeps a request that is answered with 403 or 429. */
export function noteRefused(
  access: ServerAccess,
  {
    request,
    status,
    thrown,
    principal,
  }: { readonly request: RequestHead; readonly status: number; readonly thrown: unknown; readonly principal?: string | undefined },
): void {
  if ((status !== 403 && status !== 429) || thrown instanceof Denied) return;
  access.noteRefusal({ request, status, reason: ToolError.fromUnknown(thrown).message, principal });
}
