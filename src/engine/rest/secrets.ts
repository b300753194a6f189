/** Removes secrets from texts, in all encodings in which a service may return them. */
import { pushAll } from "../../core/collections/push-all.ts";
import { encodeBasicCredentials, encodeClientCredentials } from "../../net/basic-credentials.ts";
import { passwordOfHeader, wordsOfHeader } from "../../net/header-credentials.ts";
import { addressCredentials, createLabeller, type Redact } from "../../core/secrets/redact.ts";
import { isTokenCount } from "../../core/formats/token-counts.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { type RestAuth, type RestOptions, authEntries } from "./rest-options.ts";

/** Minimum length of a secret that is redacted, as shorter ones occur in ordinary words. */
const MIN_LENGTH = 4;
/** Minimum length in an answer, where a redacted ordinary word is lost to the model. */
const MIN_LENGTH_IN_ANSWER = 8;
/** Number of fetched tokens that are redacted; older ones are no longer valid. */
const MAX_FETCHED = 8;
/** Headers that hold no credentials. */
const PLAIN_HEADERS = /^(?:accept(?:-.*)?|content-type|user-agent|cache-control|prefer|(?:.*-)?version)$/iu;
const CREDENTIAL_HEADERS = /auth|key|token|secret|cookie|password|session|signature|credential/iu;

interface Secret {
  readonly label: string;
  readonly value: string;
  /** Whether it is also redacted in answers, as it is sent to the service. */
  readonly inAnswers: boolean;
}

export class Secrets {
  readonly #configured: readonly Secret[];
  #fetched: readonly Secret[] = [];
  #redactAll: Redact = (text) => text;
  #redactAnswer: Redact = (text) => text;

  /** @param sent further names and values that are sent like headers */
  constructor(options: RestOptions, sent: readonly (readonly [name: string, value: string])[] = []) {
    const secrets: Secret[] = sent.flatMap(([name, value]) => headerSecrets(name, value));
    for (const [scheme, auth] of authEntries(options.auth)) {
      for (const [what, value] of secretValues(auth))
        secrets.push(toSecret(scheme === undefined ? what : `${what} of ${scheme}`, value, true));
    }
    for (const [name, value] of Object.entries({ ...options.documentHeaders, ...options.headers })) {
      if (!PLAIN_HEADERS.test(name)) pushAll(secrets, headerSecrets(name, value));
    }
    for (const [name, value] of Object.entries(options.secrets ?? {})) secrets.push(toSecret(name, value, false));
    this.#configured = secrets;
    this.#prepare();
  }

  /** Warns of secrets that are too short to be redacted in answers that repeat them. */
  warnings(): readonly string[] {
    return this.#configured
      .filter(({ inAnswers, value }) => inAnswers && value !== "" && value.length < MIN_LENGTH_IN_ANSWER)
      .map(
        ({ label }) =>
          `The ${label.slice(1, -1)} has fewer than ${MIN_LENGTH_IN_ANSWER} characters: an answer that repeats it shows it to the model. Use a longer one.`,
      );
  }

  /** Adds a fetched token. */
  add(label: string, value: string): void {
    this.#fetched = [toSecret(label, value, true), ...this.#fetched].slice(0, MAX_FETCHED);
    this.#prepare();
  }

  /** Replaces each secret by its label in brackets. If a secret is still found after decoding, the whole text is replaced. */
  readonly redact = (text: string): string => {
    const secrets = [...this.#configured, ...this.#fetched];
    const redacted = this.#redactAll(text);
    const plain = plainText(redacted);
    const hidden = secrets.find(({ value }) => value.length >= MIN_LENGTH_IN_ANSWER && plain.includes(value.replaceAll("\\", "")));
    return hidden === undefined ? redacted : `[text with ${hidden.label.slice(1, -1)}]`;
  };

  /** Redacts the call's credentials in a service's answer, which seldom contains any. */
  redactAnswer(text: string): string {
    return this.#redactAnswer(text);
  }

  /** Whether `redactAnswer` would change the text. */
  wouldRedactAnswer(text: string): boolean {
    return this.#redactAnswer(text) !== text;
  }

  /** Redacts a JSON value like `redactAnswer`, keys included. */
  redactValue(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.redactAnswer(value);
    if (isJsonArray(value)) return value.map((item) => this.redactValue(item));
    if (!isJsonObject(value)) return value;
    const table: Record<string, JsonValue> = Object.create(null); // "__proto__" is a key like any other
    for (const [key, item] of Object.entries(value)) table[this.redactAnswer(key)] = this.redactValue(item);
    return table;
  }

  #prepare(): void {
    const secrets = [...this.#configured, ...this.#fetched];
    this.#redactAll = labeller(secrets, MIN_LENGTH);
    this.#redactAnswer = labeller(
      secrets.filter((secret) => secret.inAnswers),
      MIN_LENGTH_IN_ANSWER,
    );
  }
}

function secretValues(auth: RestAuth): readonly (readonly [what: string, value: string])[] {
  switch (auth.type) {
    case "bearer":
      return [["bearer token", auth.token]];
    case "basic":
      return [
        ["password", auth.password],
        ["basic credentials", encodeBasicCredentials(auth)],
      ];
    case "apiKey":
      return [["API key", auth.value]];
    default:
      return [
        ["client secret", auth.clientSecret],
        ["client credentials", encodeClientCredentials(auth.clientId, auth.clientSecret)],
        ...Object.entries(addressCredentials("tokenUrl", auth.tokenUrl)),
      ];
  }
}

/** The secrets in a header: its whole value, each long word and value in it, and the password that `Basic` encodes. */
function headerSecrets(name: string, value: string): readonly Secret[] {
  if (isTokenCount(name, value)) return [];
  const inAnswers = CREDENTIAL_HEADERS.test(name);
  const words = wordsOfHeader(value).filter((word) => word.length >= MIN_LENGTH_IN_ANSWER);
  const password = passwordOfHeader(value);
  return [
    ...[...new Set([value, ...words])].map((text) => toSecret(name, text, inAnswers)),
    ...(password === undefined ? [] : [toSecret(`password of ${name}`, password, inAnswers)]),
  ];
}

function toSecret(label: string, value: string, inAnswers: boolean): Secret {
  return { label: `[${label}]`, value, inAnswers };
}

function labeller(secrets: readonly Secret[], minLength: number): Redact {
  return createLabeller(secrets.filter(({ value }) => value.length >= minLength).map(({ label, value }) => [label, value] as const));
}

/** The text with percent-encoding (up to three times) and backslashes removed. */
function plainText(text: string): string {
  let plain = text;
  for (let round = 0; round < 3 && plain.includes("%"); round++) {
    try {
      plain = decodeURIComponent(plain.replaceAll(/%(?![0-9a-f]{2})/giu, "%25"));
    } catch {
      break; // the percent signs do not encode UTF-8
    }
  }
  return plain.replaceAll("\\", "");
}
