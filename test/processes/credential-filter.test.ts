import fc from "fast-check";
import { expect, test } from "vitest";
import { CredentialFilter } from "../../src/processes/credential-filter.ts";

const VARIABLES = { API_TOKEN: "aabaabaac", DB_PASSWORD: "bcabcabc", GREETING: "good morning" };

function passedOn(texts: readonly string[]): string {
  const heard: string[] = [];
  const filter = new CredentialFilter(VARIABLES, (text) => heard.push(text));
  for (const text of texts) filter.push(text);
  filter.end();
  return heard.join("");
}

test("E12 a credential is struck out wherever it is split over writes, and all other text is passed on in its order", () => {
  const piece = fc.oneof(
    fc.constantFrom(...Object.values(VARIABLES)),
    fc.string({ unit: fc.constantFrom("a", "b", "c", "\n"), maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.array(fc.nat({ max: 40 }), { maxLength: 6 }), (pieces, cuts) => {
      const text = pieces.join("");
      const ends = [...cuts.filter((cut) => cut < text.length).toSorted((one, other) => one - other), text.length];
      const passed = passedOn(ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end)));
      expect(passed).not.toContain(VARIABLES.API_TOKEN);
      expect(passed).not.toContain(VARIABLES.DB_PASSWORD);
      expect(passed.replaceAll("[API_TOKEN]", VARIABLES.API_TOKEN).replaceAll("[DB_PASSWORD]", VARIABLES.DB_PASSWORD)).toBe(text);
    }),
  );
});

test("E12 text that begins no credential is passed on at once, and other variables are not struck out", () => {
  const heard: string[] = [];
  const filter = new CredentialFilter(VARIABLES, (text) => heard.push(text));
  for (const text of ["good morning\n", "x aab", "aabaac!"]) filter.push(text);
  expect(heard).toEqual(["good morning\n", "x ", "[API_TOKEN]!"]);
});

test("E12 a password that is an ordinary word is struck out wherever the word occurs, if it has eight characters", () => {
  const filter = new CredentialFilter({ PGUSER: "postgres", PGPASSWORD: "postgres", ADMIN_PASSWORD: "admin" });
  expect(filter.redact("postgres owns template1, admin does not")).toBe("[PGPASSWORD] owns template1, admin does not");
});

test("E12 a credential that is written in JSON is struck out wherever it is split over writes", () => {
  const secret = 'ab"cd\\ef\ngh';
  const written = JSON.stringify({ key: secret });
  for (let cut = 1; cut < written.length; cut++) {
    const heard: string[] = [];
    const filter = new CredentialFilter({ API_TOKEN: secret }, (text) => heard.push(text));
    filter.push(written.slice(0, cut));
    filter.push(written.slice(cut));
    filter.end();
    expect(heard.join("")).toBe('{"key":"[API_TOKEN]"}');
  }
});

test("E12 the password of an address is struck out, also without the rest of it and decoded, whatever the name of the variable", () => {
  const filter = new CredentialFilter({ DATABASE_URL: "postgres://ann:p%40ssword@db.example/x?sslmode=require" });
  const printed = 'DATABASE_URL=postgres://ann:p%40ssword@db.example/x?sslmode=require {"user":"ann","password":"p@ssword"}';
  const password = "[password of DATABASE_URL]";
  expect(filter.redact(printed)).toBe(
    `DATABASE_URL=postgres://ann:${password}@db.example/x?sslmode=require {"user":"ann","password":"${password}"}`,
  );
});

test("E12 no line of a private key is passed on, wherever the key is split over writes", () => {
  const lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "Zm9vYmE9"];
  const key = `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
  const encoded = Buffer.from(`ann:${key}`).toString("base64");
  for (const size of [1, 7, 30, 1_000]) {
    const heard: string[] = [];
    const filter = new CredentialFilter({ PRIVATE_KEY: key }, (text) => heard.push(text));
    for (const [piece] of `key: ${key} ${JSON.stringify(key)} ${encoded} end`.matchAll(new RegExp(`[^]{1,${size}}`, "gu")))
      filter.push(piece);
    filter.end();
    const passed = heard.join("");
    expect(lines.filter((line) => passed.includes(line))).toEqual([]);
    expect(passed).not.toContain(encoded.slice(40, 60));
    expect(passed).toMatch(/^key: .* end$/su);
  }
});
