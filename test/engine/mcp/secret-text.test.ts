/** Requests for secrets are noticed however they are written; a mutator with a seed writes them in ways that no rule was made for. */
import { describe, expect, test } from "vitest";
import { readForm } from "../../../src/engine/mcp/elicitation-form.ts";
import { mentionsSecret } from "../../../src/engine/mcp/secret-text.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";

const REQUESTS = [
  "Please enter your password",
  "Your passphrase",
  "Enter the 4-digit PIN of your card",
  "What is your API key?",
  "access token",
  "client secret",
  "the 12 words of your seed phrase",
  "mnemonic of the wallet",
  "bearer for the service",
  "one-time code from your phone",
  "credit card number",
  "CVV on the back of the card",
  "the security code we sent you",
  "private key of the server",
  "your login credentials",
  "connection string of the database",
  "answer to your security question",
];
const LANGUAGES = [
  "Ihr Passwort, bitte",
  "Bitte geben Sie das WLAN-Kennwort ein",
  "Ihre Geheimzahl",
  "Votre mot de passe",
  "Code de vérification reçu par SMS",
  "Introduzca su contraseña",
  "número de tarjeta",
  "Digite sua senha",
  "Inserisci la password e il codice segreto",
  "Voer uw wachtwoord in",
  "Ange ditt lösenord",
  "Podaj hasło",
  "Podaj haslo",
  "Ihr Sicherheitscode",
  "Bestätigungscode aus der SMS",
  "Zadejte heslo",
  "Şifrenizi girin",
  "Введите пароль",
  "Ключ API",
  "Введіть пароль",
  "Εισάγετε τον κωδικό πρόσβασης",
  "请输入您的密码",
  "請輸入密碼",
  "输入短信验证码",
  "パスワードを入力してください",
  "暗証番号",
  "비밀번호를 입력하세요",
  "أدخل كلمة المرور",
  "הזן סיסמה",
  "अपना पासवर्ड दर्ज करें",
  "ป้อนรหัสผ่าน",
  "Nhập mật khẩu",
  "Masukkan kata sandi",
];
const HARMLESS = [
  "What is your favourite colour?",
  "How many tokens may the summary have?",
  "Which message shall I pin to the top?",
  "Choose a keyboard layout",
  "The secretary's name",
  "Name of the tokenizer",
  "A short opinion",
  "In which city do you live?",
  "Wie heißt das Projekt?",
  "Quelle est la capitale de la France ?",
  "¿Cuál es tu nombre?",
  "Как вас зовут?",
  "您叫什么名字？",
  "お名前を入力してください",
  "이름이 무엇입니까?",
  "Branch to compare with",
  "Number of passengers",
  "Compass direction",
];

type Mutation = (text: string, random: () => number) => string;

const pick = <T>(values: readonly T[], random: () => number): T | undefined => values[Math.floor(random() * values.length)];
const each = (text: string, share: number, random: () => number, change: (character: string) => string): string =>
  Array.from(text, (character) => (random() < share ? change(character) : character)).join("");
const table = (pairs: string): ReadonlyMap<string, string> => new Map(pairs.split(" ").map((pair) => [pair.slice(0, 1), pair.slice(1)]));

const CYRILLIC = table("aа eе oо pр cс yу xх iі sѕ jј hһ kк dԁ");
const GREEK = table("aα oο iι kκ pρ vν uυ eε tτ");
const LEET = table("a4 e3 i1 o0 s5 t7");
const offset = (text: string, from: number): string =>
  text.replaceAll(/[a-z]/gu, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) - 0x61 + from));

/** Each changes how a text is written and leaves what a person reads. */
const MUTATIONS: Readonly<Record<string, Mutation>> = {
  capitals: (text, random) => each(text, 0.5, random, (letter) => letter.toUpperCase()),
  "Cyrillic letters": (text, random) => each(text.toLowerCase(), 0.7, random, (letter) => CYRILLIC.get(letter) ?? letter),
  "Greek letters": (text, random) => each(text.toLowerCase(), 0.7, random, (letter) => GREEK.get(letter) ?? letter),
  "digits for letters": (text, random) => each(text.toLowerCase(), 0.6, random, (letter) => LEET.get(letter) ?? letter),
  "invisible characters": (text, random) =>
    each(
      text,
      0.5,
      random,
      (letter) => letter + (pick(["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f"], random) ?? ""),
    ),
  "accents on letters": (text, random) =>
    each(text, 0.5, random, (letter) => `${letter}${pick(["\u0301", "\u0308", "\u0323"], random) ?? ""}`),
  "full width": (text) => offset(text.toLowerCase(), 0xff41),
  "mathematical letters": (text) => offset(text.toLowerCase(), 0x1d5ba),
  "letters in circles": (text) => offset(text.toLowerCase(), 0x24d0),
  "letters in squares": (text) => offset(text.toLowerCase(), 0x1f170),
  "letters apart": (text, random) => {
    const between = pick([" ", ".", "-", "_", " · "], random) ?? " ";
    return text
      .split(" ")
      .map((word) => Array.from(word).join(between))
      .join("  ");
  },
};

function chances(seed: string): () => number {
  const random = seededRandom(seed);
  return () => random.next();
}

describe("a request for a secret", () => {
  test.each([...REQUESTS, ...LANGUAGES])("is detected: %s", (text) => {
    expect(mentionsSecret(text)).toBe(true);
  });

  test.each(Object.keys(MUTATIONS))("is detected with %s", (name) => {
    const random = chances(`mutations of ${name}`);
    const missed: string[] = [];
    for (const text of REQUESTS)
      for (let round = 0; round < 20; round++) {
        const written = MUTATIONS[name]?.(text, random) ?? "";
        if (!mentionsSecret(written)) missed.push(written);
      }
    expect(missed).toEqual([]);
  });

  test("is detected with several of these changes at once", () => {
    const random = chances("several at once");
    const mutations = [
      MUTATIONS["Cyrillic letters"],
      MUTATIONS["invisible characters"],
      MUTATIONS["accents on letters"],
      MUTATIONS["capitals"],
    ];
    const missed: string[] = [];
    for (const text of REQUESTS)
      for (let round = 0; round < 50; round++) {
        const once = pick(mutations, random)?.(text, random) ?? text;
        const written = pick(mutations, random)?.(once, random) ?? once;
        if (!mentionsSecret(written)) missed.push(written);
      }
    expect(missed).toEqual([]);
  });

  test("is detected in right-to-left text", () => {
    expect(mentionsSecret("\u202edrowssap ruoy\u202c")).toBe(true);
  });

  test.each(HARMLESS)("is not detected in: %s", (text) => {
    expect(mentionsSecret(text)).toBe(false);
  });
});

describe("a form", () => {
  const judged = (message: string, field: object, more: object = {}): string => {
    const form = readForm({ type: "object", properties: { value: { type: "string", ...field } }, ...more }, message);
    if (typeof form === "string") return form;
    return form.secret !== undefined ? "refused" : form.isDoubtful ? "warned of" : "asked";
  };

  test.each([
    ["in its message", "Please enter your password to go on.", {}, {}],
    ["in its own title", "One more thing.", {}, { title: "Пароль" }],
    ["in its own description", "One more thing.", {}, { description: "mot de passe" }],
    ["in a field's title", "One more thing.", { title: "密码" }, {}],
    ["in an example", "One more thing.", { examples: ["my password"] }, {}],
    ["behind a warning that is none", "Do not close this page. Enter your password.", {}, {}],
    ["as a number", "Enter the PIN", { type: "integer" }, {}],
  ])("that asks for a secret %s is rejected", (_where, message, field, more) => {
    expect(judged(message, field, more)).toBe("refused");
  });

  test.each([
    ["that warns of giving one", "Never share your password. What is your name?", {}, "warned of"],
    ["that offers a choice only", "Which token shall be used?", { enum: ["the old one", "the new one"] }, "asked"],
    ["that takes a yes or no only", "Shall I rotate the API key?", { type: "boolean" }, "asked"],
    ["that has nothing to do with one", "What is your name?", { title: "Name" }, "asked"],
  ])("%s is not rejected", (_what, message, field, verdict) => {
    expect(judged(message, field)).toBe(verdict);
  });
});
