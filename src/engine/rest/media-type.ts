import { wordSet } from "../../core/base/wording.ts";

export interface MediaType {
  /** Lower case, without parameters: `application/json`; empty if missing or invalid. */
  readonly type: string;
  /** Lower case. */
  readonly charset: string | undefined;
}

const MEDIA_TYPE = /^[\w!#$&^.+*-]{1,127}\/[\w!#$&^.+*-]{1,127}$/u;

/** @param header the value of Content-Type; only its first 1,000 characters are read */
export function parseMediaType(header: string | undefined): MediaType {
  const [first = "", ...parameters] = (header ?? "").slice(0, 1_000).split(";");
  const type = first.trim().toLowerCase();
  const charset = parameters
    .map((parameter) => parameter.trim().toLowerCase())
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice("charset=".length)
    .replaceAll(/["']/gu, "");
  return { type: MEDIA_TYPE.test(type) ? type : "", charset: charset === "" ? undefined : charset };
}

/** Whether a body of this type is a single JSON value, not a sequence of them. */
export function isJsonType(type: string): boolean {
  return type === "application/json" || type === "text/json" || type.endsWith("+json");
}

const TEXT_TYPES: ReadonlySet<string> = wordSet(
  "application/xml application/yaml application/x-yaml application/javascript application/ecmascript application/graphql " +
    "application/sql application/toml application/x-ndjson application/ndjson application/jsonl application/x-jsonlines " +
    "application/json-seq application/stream+json application/x-www-form-urlencoded application/x-sh application/x-pem-file " +
    "application/http",
);

/** Whether a body of this type is text and not bytes. */
export function isTextType(type: string): boolean {
  return type.startsWith("text/") || type.endsWith("+xml") || type.endsWith("+yaml") || isJsonType(type) || TEXT_TYPES.has(type);
}
