/** Strikes the credentials that a program was given out of what it writes. */
import { createRedactor, pickCredentials, type Redact } from "../core/secrets/redact.ts";
import { secretParts, secretSpellings } from "../core/secrets/secret-spellings.ts";

/** With this after it, the redactor also finds the beginning of a credential. */
const CUT = "…";

/** Passes on text as it arrives, without credentials, also where one is split over writes: a text that may begin one is held until it is known. */
export class CredentialFilter {
  readonly #redact: Redact;
  readonly #secrets: readonly string[];
  readonly #listener: (text: string) => void;
  #held = "";

  /** @param variables those that the program was given, besides inherited ones; which are credentials is known by their names */
  constructor(variables: Readonly<Record<string, string>>, listener: (text: string) => void = () => undefined) {
    const credentials = pickCredentials(variables);
    this.#redact = createRedactor(credentials);
    this.#secrets = Object.values(credentials).flatMap(secretParts).flatMap(secretSpellings);
    this.#listener = listener;
  }

  /** Returns a whole text without the credentials. */
  readonly redact = (text: string): string => (this.#secrets.length === 0 ? text : this.#redact(text));

  readonly push = (text: string): void => {
    const all = this.redact(this.#held + text);
    const start = all.length - this.#heldChars(all);
    this.#held = all.slice(start);
    if (start > 0) this.#listener(all.slice(0, start));
  };

  /** Passes on the rest. @param isCut whether more might have followed: then the beginning of a credential is struck out, if it has eight characters */
  end(isCut: boolean = false): void {
    if (this.#held !== "") this.#listener(isCut ? this.#redact(`${this.#held}${CUT}`).slice(0, -CUT.length) : this.#held);
    this.#held = "";
  }

  /** The length of the longest end of the text that begins a credential. Looks only where its first character is: a key file has thousands. */
  #heldChars(text: string): number {
    let start = text.length;
    for (const secret of this.#secrets) {
      const first = secret.charAt(0);
      let at = text.indexOf(first, Math.max(0, text.length - secret.length + 1));
      while (at >= 0 && at < start && !secret.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
      if (at >= 0 && at < start) start = at;
    }
    return text.length - start;
  }
}
