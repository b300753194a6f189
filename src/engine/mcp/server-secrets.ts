/** Redacts the credentials of a server: those that are configured, and the tokens that were obtained for it. */
import { MIN_LENGTH_IN_ANSWER, createRedactor, redactValue, type Redact } from "../../core/secrets/redact.ts";
import { collectCredentials, collectSecrets, type McpOptions } from "./options.ts";

/** Number of tokens that are redacted, the newest; older ones are no longer valid. */
const MAX_TOKENS = 16;

export class ServerSecrets {
  readonly #redactSecrets: Redact;
  readonly #redactCredentials: Redact;
  readonly #hasCredentials: boolean;
  /** The redactors of the tokens, the oldest first. */
  readonly #tokens = new Map<string, Redact>();

  constructor(options: McpOptions) {
    const credentials = collectCredentials(options);
    this.#redactSecrets = createRedactor(collectSecrets(options));
    this.#redactCredentials = createRedactor(credentials);
    this.#hasCredentials = Object.keys(credentials).length > 0;
  }

  /** Redacts errors and texts about the server. */
  readonly redact: Redact = (text) => {
    let redacted = this.#redactSecrets(text);
    for (const redactToken of this.#tokens.values()) redacted = redactToken(redacted);
    return redacted;
  };

  /** Redacts what the server says: its answers, questions, reports and notifications. */
  readonly redactAnswer = <T>(value: T): T =>
    this.#hasCredentials || this.#tokens.size > 0 ? redactValue(value, this.#redactAnswerText) : value;

  /** Redacts a token from now on. */
  readonly addToken = (token: string): void => {
    if (this.#tokens.has(token)) return;
    this.#tokens.set(token, createRedactor({ token }));
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
  };

  readonly #redactAnswerText: Redact = (text) => {
    let redacted = this.#redactCredentials(text);
    for (const [token, redactToken] of this.#tokens) if (token.length >= MIN_LENGTH_IN_ANSWER) redacted = redactToken(redacted);
    return redacted;
  };
}
