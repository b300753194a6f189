/** Finds the credentials in the value of a header, as services show them apart from it. */

/** Returns the password in the value of a header `Authorization`; undefined if it has none. */
export function passwordOfHeader(value: string): string | undefined {
  const [, encoded] = /^Basic +(\S+)$/iu.exec(value.trim()) ?? [];
  if (encoded === undefined) return undefined;
  const [, password] = /^[^:]*:(.+)$/su.exec(Buffer.from(encoded, "base64").toString("utf8")) ?? [];
  return password;
}

/** Returns the words of a value, such as the token after `Bearer`, and the values in it, such as those of cookies or of `Token token="…"`. */
export function wordsOfHeader(value: string): readonly string[] {
  const words = value.split(/[\s;,]+/u).filter((word) => word !== "");
  const values = words.flatMap((word) => /^[^=]+="?([^"]+)"?$/u.exec(word)?.[1] ?? []);
  return [...words, ...values];
}
