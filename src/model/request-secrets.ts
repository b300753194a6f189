/** The headers of a request, and the parts of them that must stay secret. */
import { ToolError } from "../core/error.ts";
import { isTokenCount } from "../core/formats/token-counts.ts";
import { addressCredentials, redactError, createRedactor, type Redact } from "../core/secrets/redact.ts";
import { passwordOfHeader } from "../net/header-credentials.ts";
import type { Framing } from "../wire/wire-format.ts";

export interface RequestSecretsOptions {
  readonly format: { readonly framing: Framing };
  readonly stream?: boolean;
  readonly apiKey?: string;
  readonly keyHeader?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Its query may have a key. */
  readonly baseUrl?: string;
}

const SECRET_HEADER = /auth|key|token|secret|cookie|password|session|signature|credential/iu;

/** Control characters except line ends and tabs, and bidirectional formatting characters. */
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;

const MEDIA_TYPES: Readonly<Record<Framing, string>> = {
  sse: "text/event-stream",
  "json-lines": "application/x-ndjson",
  "event-stream": "application/vnd.amazon.eventstream",
};

export class RequestSecrets {
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #redact: Redact;

  /** @throws ToolError `invalid_argument` for a key or a header that HTTP cannot carry; the value is not reported */
  constructor({ format, stream = true, apiKey, keyHeader = "authorization", headers = {}, baseUrl = "" }: RequestSecretsOptions) {
    const key = apiKey?.trim();
    const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
    const all = {
      "content-type": "application/json",
      accept: stream ? MEDIA_TYPES[format.framing] : "application/json",
      ...(key === undefined ? {} : { [keyHeader.toLowerCase()]: keyHeader.toLowerCase() === "authorization" ? `Bearer ${key}` : key }),
      ...Object.fromEntries(given),
    };
    for (const [name, value] of Object.entries(all)) checkHeader(name, value);
    this.headers = Object.freeze(all);
    const redact = createRedactor({ ...addressCredentials("baseUrl", baseUrl), ...collectSecrets(key, given) });
    this.#redact = (text) => redact(text).replaceAll(CONTROL_CHARACTERS, " ");
  }

  /** The error, and its cause, without the secrets and without terminal control characters. */
  withoutSecrets(error: ToolError): ToolError {
    return redactError(error, this.#redact);
  }
}

/** Each secret under its replacement. */
function collectSecrets(key: string | undefined, headers: readonly (readonly [string, string])[]): Readonly<Record<string, string>> {
  const secrets: Record<string, string> = {};
  if (key !== undefined) secrets["API key"] = key;
  for (const [name, value] of headers) {
    if (!SECRET_HEADER.test(name) || isTokenCount(name, value)) continue;
    secrets[name] = value.replace(/^(?:Bearer|Basic)\s+/iu, "");
    secrets[`password of ${name}`] = passwordOfHeader(value) ?? "";
  }
  return secrets;
}

function checkHeader(name: string, value: string): void {
  try {
    new Headers().set(name, value);
  } catch {
    throw new ToolError("invalid_argument", `The header ${JSON.stringify(name)} has a character that HTTP does not allow.`, {
      hint: "A copied key may contain a line break or an invisible character.",
    });
  }
}
