/** Answers with bytes: the whole, one range of them, or that the client has them already. */
import { HttpError } from "./http-error.ts";
import type { RequestHead } from "./request-head.ts";

export const BYTES_TYPE = "application/octet-stream";

/** Bytes that never change. */
export interface FixedBytes {
  /** Their hash, in hexadecimal: the entity tag and the file name of the response. */
  readonly id: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Whether a client asks for bytes by the header `Accept`. */
export function acceptsBytes({ headers }: Pick<RequestHead, "headers">): boolean {
  return (headers.get("accept") ?? "")
    .toLowerCase()
    .split(",")
    .map((range) => range.split(";").map((part) => part.trim()))
    .some(([type, ...parameters]) => type === BYTES_TYPE && !parameters.some((each) => /^q=0(?:\.0*)?$/u.test(each)));
}

/**
 * Makes the response to a GET or HEAD. A request for several ranges gets the whole. Browsers save the bytes and run nothing of them, whatever they are.
 *
 * @throws HttpError 412 if `If-Match` names other bytes, 416 for a range that begins after the end
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2 and #section-14
 */
export function bytesResponse({ method, headers: given }: Pick<RequestHead, "method" | "headers">, { id, bytes }: FixedBytes): Response {
  const tag = `"${id}"`;
  const headers: Record<string, string> = { etag: tag, vary: "accept", "cache-control": "private, no-cache" };
  const wanted = given.get("if-match");
  if (wanted !== null && !names(wanted, tag))
    throw new HttpError(412, "invalid_argument", "The bytes are not those that If-Match names.", { headers: { etag: tag } });
  if (names((given.get("if-none-match") ?? "").replaceAll(/\bW\/(?=")/gu, ""), tag)) return new Response(null, { status: 304, headers });
  Object.assign(headers, {
    "accept-ranges": "bytes",
    "content-type": BYTES_TYPE,
    "content-disposition": `attachment; filename="${id}"`,
    "content-security-policy": "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  });
  const size = bytes.byteLength;
  const isSame = (given.get("if-range") ?? tag) === tag;
  const range = method === "GET" && isSame ? readRange(given.get("range") ?? "", size) : undefined;
  if (range === undefined) return new Response(bytes, { headers: { ...headers, "content-length": String(size) } });
  const part = bytes.subarray(range.first, range.last + 1);
  headers["content-range"] = `bytes ${range.first}-${range.last}/${size}`;
  return new Response(part, { status: 206, headers: { ...headers, "content-length": String(part.byteLength) } });
}

/** Whether a list of entity tags names this one, by strong comparison. */
function names(list: string, tag: string): boolean {
  return list.split(",").some((each) => each.trim() === "*" || each.trim() === tag);
}

/** The range that a header `Range` asks for; undefined for the whole: if there is none, one that cannot be read, or several. @throws HttpError 416 */
function readRange(header: string, size: number): { readonly first: number; readonly last: number } | undefined {
  const [unit = "", set = "", ...rest] = header.split("=");
  const [spec = "", ...others] = set
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  const found = /^(\d*)-(\d*)$/u.exec(spec);
  if (unit.trim().toLowerCase() !== "bytes" || rest.length + others.length > 0 || found === null || spec === "-") return undefined;
  const [, from = "", to = ""] = found;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return undefined;
  const first = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  if (first >= size)
    throw new HttpError(416, "invalid_argument", `The range begins after the last of ${size} bytes.`, {
      hint: size === 0 ? "Leave out Range." : `Ask for bytes 0 to ${size - 1}.`,
      headers: { "content-range": `bytes */${size}` },
    });
  return { first, last: from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1) };
}
