/** The pages that a person sees during a login: whom it is for, and how it ended. */

import { escapeInvisible } from "../../../core/base/escape-invisible.ts";
import { ToolError } from "../../../core/error.ts";

/** Forbids scripts, frames and resources. `form-action` is not limited, as the form leads on to the authorization server. */
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
} as const;

export interface LoginQuestion {
  readonly server: string;
  readonly user: string;
  /** The host of the authorization server. */
  readonly host: string;
  /** The path of this server that the form is posted to. */
  readonly action: string;
}

/** Asks the person to confirm that they are this user: the link may come from another person. */
export function confirmPage({ server, user, host, action }: LoginQuestion): Response {
  return page(
    200,
    `Log in to ${server}`,
    `<p>You are about to connect <b>${escapeHtml(server)}</b> with the user <b>${escapeHtml(user)}</b> of this gateway. You log in at <b>${escapeHtml(host)}</b>.</p>
<p>Continue only if you are ${escapeHtml(user)}, and asked for this yourself: the calls of this user will then be made in your name.</p>
<form method="post" action="${escapeHtml(action)}"><button>Continue</button></form>`,
  );
}

export function messagePage(status: number, title: string, text: string): Response {
  return page(status, title, `<p>${escapeHtml(text)}</p>`);
}

export function unknownLoginPage(): Response {
  return messagePage(400, "Unknown login", "This login has ended, took too long, or was never started. Start it again.");
}

const MAX_REASON = 200;

/** The error of an authorization response without a code. @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1 */
export function authorizationError(params: URLSearchParams): ToolError {
  const reported = ["error", "error_description"].flatMap(
    (name) =>
      params
        .get(name)
        ?.replaceAll(/[^\u0020-\u007e]/gu, " ")
        .slice(0, MAX_REASON) ?? [],
  );
  const reason = reported.length === 0 ? "" : `: ${reported.join(": ")}`;
  return new ToolError("permission_denied", `the authorization server sent no code${reason}`);
}

function page(status: number, title: string, body: string): Response {
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head>
<body><main><h1>${escapeHtml(title)}</h1>
${body}
</main></body></html>
`;
  return new Response(text, { status, headers: HEADERS });
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes a text for HTML, with its invisible characters as `\u…`: a name must not look like that of another user. */
function escapeHtml(text: string): string {
  return escapeInvisible(text).replaceAll(/[&<>"']/gu, (character) => ENTITIES[character] ?? "");
}
